#include "db/analysis/whatif/step_ops.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace osora::db::whatif {
namespace {

using Key = std::tuple<int, OpKind, int>;  // stage, kind, seq_id
using Pattern = std::vector<Key>;
using Ops = std::span<TraceOp const>;

Key key_of(TraceOp const& op) {
    return {op.stage, op.kind, op.seq_id};
}

/// Ops of the trace, sorted, that have the same `part`.
template <class Part>
std::vector<Ops> split_by(Ops ops, Part part) {
    std::vector<Ops> groups;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= ops.size(); ++i) {
        if (i < ops.size() && part(ops[i]) == part(ops[begin])) continue;
        groups.push_back(ops.subspan(begin, i - begin));
        begin = i;
    }
    return groups;
}

/// The ops of each dp rank in a step; nullopt if they differ, or if an op occurs with two times.
std::optional<Pattern> pattern_of(Ops step, int dp_size) {
    auto const ranks = split_by(step, [](TraceOp const& op) { return op.dp_rank; });
    if (ranks.size() != static_cast<std::size_t>(dp_size)) return std::nullopt;
    Pattern pattern;
    for (TraceOp const& op : ranks.front()) pattern.push_back(key_of(op));
    if (std::ranges::adjacent_find(pattern) != pattern.end()) return std::nullopt;
    for (Ops const rank : ranks) {
        if (!std::ranges::equal(rank, pattern, {}, key_of)) return std::nullopt;
    }
    return pattern;
}

/// The pattern of most steps; of equally frequent ones the largest, then the first.
Pattern most_common(std::map<Pattern, std::vector<Ops>> const& steps) {
    auto const rank = [](auto const& entry) {
        return std::tuple(entry.second.size(), entry.first.size());
    };
    return std::ranges::max_element(steps, {}, rank)->first;
}

Result<void> check_stages(StepOps const& ops) {
    std::set<int> computing;
    for (OpSlot const& slot : ops.slots) {
        if (is_compute(slot.kind)) computing.insert(slot.stage);
    }
    for (int stage = 0; stage < ops.pp_size; ++stage) {
        if (computing.contains(stage)) continue;
        return Error{Errc::invalid_input, fmt::format("stage {} has no compute op", stage)};
    }
    return {};
}

void fill(StepOps& into, std::vector<Ops> const& steps) {
    std::size_t const count = into.slots.size();
    for (std::size_t i = 0; i < count; ++i) {
        TraceOp const& op = steps.front()[i];  // dp rank 0 comes first
        into.slots[i] = {op.stage,       op.kind,    op.seq_id,
                         op.model_chunk, op.start_s, op.start_s + op.duration_s};
    }
    for (Ops const step : steps) into.steps.push_back(step.front().step);
    into.start_s.resize(count * into.lanes());
    into.duration_s.resize(count * into.lanes());
    std::size_t lane = 0;
    for (Ops const step : steps) {
        for (std::size_t i = 0; i < step.size(); ++i) {
            std::size_t const at = i % count * into.lanes() + lane + i / count;
            into.start_s[at] = step[i].start_s;
            into.duration_s[at] = step[i].duration_s;
        }
        lane += static_cast<std::size_t>(into.dp_size);
    }
}

}  // namespace

Result<StepOps> collect_steps(OpTrace trace) {
    std::ranges::sort(trace.ops, {}, [](TraceOp const& op) {
        return std::tuple(op.step, op.dp_rank, op.stage, op.kind, op.seq_id, op.model_chunk,
                          op.start_s, op.duration_s);
    });
    // A row that is written twice is one op; two different ones leave out the step.
    auto const repeated = std::ranges::unique(trace.ops);
    trace.ops.erase(repeated.begin(), repeated.end());
    StepOps found;
    for (TraceOp const& op : trace.ops) {
        found.dp_size = std::max(found.dp_size, op.dp_rank + 1);
        found.pp_size = std::max(found.pp_size, op.stage + 1);
    }
    std::map<Pattern, std::vector<Ops>> patterns;
    std::vector<std::pair<std::int64_t, std::optional<Pattern>>> steps;
    for (Ops const step : split_by(trace.ops, [](TraceOp const& op) { return op.step; })) {
        auto pattern = pattern_of(step, found.dp_size);
        if (pattern) patterns[*pattern].push_back(step);
        steps.emplace_back(step.front().step, std::move(pattern));
    }
    if (patterns.empty()) {
        return Error{Errc::invalid_input,
                     fmt::format("none of the {} steps has the same ops on all {} dp ranks",
                                 steps.size(), found.dp_size)};
    }
    Pattern const chosen = most_common(patterns);
    for (auto const& [step, pattern] : steps) {
        if (pattern != chosen) found.steps_left_out.push_back(step);
    }
    found.slots.resize(chosen.size());
    fill(found, patterns[chosen]);
    OSORA_TRY_VOID(check_stages(found));
    return found;
}

}  // namespace osora::db::whatif
