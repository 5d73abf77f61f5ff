#include "db/analysis/whatif/whatif.hpp"

#include "base/robust.hpp"
#include "db/analysis/whatif/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace osora::db::whatif {
namespace {

constexpr int kWorstPercent = 3;
constexpr int kNamed = 5;          // workers in held_by
constexpr double kNothing = 1e-9;  // of the ideal step: below this there is nothing to divide

bool keep_all(OpSlot const&, int) {
    return true;
}
bool keep_none(OpSlot const&, int) {
    return false;
}

void measure_steps(StepOps const& ops, Replay const& replay, WhatIf& into) {
    auto const no_delay = replay.step_times(keep_all);
    auto const dp_size = static_cast<std::size_t>(ops.dp_size);
    for (std::size_t step = 0; step < ops.steps.size(); ++step) {
        double first = std::numeric_limits<double>::infinity(), last = -first;
        for (std::size_t slot = 0; slot < ops.slots.size(); ++slot) {
            for (std::size_t rank = 0; rank < dp_size; ++rank) {
                std::size_t const at = slot * ops.lanes() + step * dp_size + rank;
                first = std::min(first, ops.start_s[at]);
                last = std::max(last, ops.start_s[at] + ops.duration_s[at]);
            }
        }
        into.steps.push_back({ops.steps[step], last - first, no_delay[step], 1});
        into.actual_s += (last - first) / static_cast<double>(ops.steps.size());
    }
    into.no_delay_s = mean(no_delay);
    into.ideal_s = replay.mean_step_s(keep_none);
    into.slowdown = into.no_delay_s / into.ideal_s;
    for (auto& step : into.steps) step.slowdown = step.no_delay_s / into.ideal_s;
}

/// Equation 2, for op types, stages and dp ranks.
void put_back(StepOps const& ops, Replay const& replay, WhatIf& into) {
    std::set<std::string_view> types;
    for (auto const& slot : ops.slots) types.insert(type_of(slot.kind));
    for (auto const type : types) {
        auto const of_type = [type](OpSlot const& op, int) { return type_of(op.kind) == type; };
        into.slowdown_of_type.emplace(type, replay.mean_step_s(of_type) / into.ideal_s);
    }
    for (int stage = 0; stage < ops.pp_size; ++stage) {
        auto const of_stage = [stage](OpSlot const& op, int) { return op.stage == stage; };
        into.slowdown_of_stage.push_back(replay.mean_step_s(of_stage) / into.ideal_s);
    }
    for (int rank = 0; rank < ops.dp_size; ++rank) {
        into.slowdown_of_dp_rank.push_back(replay.mean_step_of_rank_s(rank) / into.ideal_s);
    }
}

void rank_workers(StepOps const& ops, WhatIf& into) {
    for (int stage = 0; stage < ops.pp_size; ++stage) {
        for (int rank = 0; rank < ops.dp_size; ++rank) {
            double const slowdown =
                std::min(into.slowdown_of_stage[static_cast<std::size_t>(stage)],
                         into.slowdown_of_dp_rank[static_cast<std::size_t>(rank)]);
            into.workers.push_back({rank, stage, slowdown});
        }
    }
    std::ranges::stable_sort(into.workers, std::greater{}, &Worker::slowdown);
    int const count = static_cast<int>(into.workers.size());
    into.worst_workers = (count * kWorstPercent + 99) / 100;
}

Share share_of(WhatIf const& found, Replay const& replay, Replay::Keeps const& chosen) {
    double const straggling_s = found.no_delay_s - found.ideal_s;
    if (std::abs(straggling_s) < kNothing * found.ideal_s) {
        double const none = std::numeric_limits<double>::quiet_NaN();
        return {none, none};
    }
    auto const others = [&](OpSlot const& op, int rank) { return !chosen(op, rank); };
    return {(found.no_delay_s - replay.mean_step_s(others)) / straggling_s,
            (replay.mean_step_s(chosen) - found.ideal_s) / straggling_s};
}

void measure_shares(StepOps const& ops, Replay const& replay, WhatIf& into) {
    int const last = ops.pp_size - 1;
    into.of_last_stage =
        share_of(into, replay, [last](OpSlot const& op, int) { return op.stage == last; });
    std::set<std::pair<int, int>> worst;
    for (int i = 0; i < into.worst_workers; ++i) {
        auto const& worker = into.workers[static_cast<std::size_t>(i)];
        worst.emplace(worker.dp_rank, worker.stage);
    }
    into.of_worst_workers = share_of(into, replay, [&](OpSlot const& op, int rank) {
        return worst.contains({rank, op.stage});
    });
}

/// Names only what accounts for half of the straggling; a worker before its stage, a stage before
/// its ops.
void name_holder(WhatIf& into) {
    if (into.slowdown < kStraggling) return;
    into.holder = Holder::spread;
    if (into.workers.size() > 1 && into.of_worst_workers.removed >= kHolds) {
        into.holder = Holder::worker;
        int const named = std::min(into.worst_workers, kNamed);
        for (int i = 0; i < named; ++i) {
            auto const& worker = into.workers[static_cast<std::size_t>(i)];
            into.held_by += fmt::format("{}dp rank {} of stage {}", i > 0 ? ", " : "",
                                        worker.dp_rank, worker.stage);
        }
        if (named < into.worst_workers) {
            into.held_by += fmt::format(" and {} more", into.worst_workers - named);
        }
        return;
    }
    if (into.pp_size > 1 && into.of_last_stage.removed >= kHolds) {
        into.holder = Holder::last_stage;
        into.held_by = fmt::format("stage {}, the last one", into.pp_size - 1);
        return;
    }
    auto const worst = std::ranges::max_element(into.slowdown_of_type, {},
                                                [](auto const& entry) { return entry.second; });
    if (worst->second - 1 >= kHolds * (into.slowdown - 1)) {
        into.holder = Holder::op_type;
        into.held_by = worst->first;
    }
}

}  // namespace

Result<WhatIf> what_if(std::string_view csv, JobShape const& shape) {
    OSORA_TRY(auto trace, read_op_trace(csv, shape));
    WhatIf found;
    found.shape = shape;
    found.rows_unreadable = trace.rows_unreadable;
    found.first_fault = trace.first_fault;
    found.unknown_ops = trace.unknown_ops;
    OSORA_TRY(auto const ops, collect_steps(std::move(trace)));
    found.dp_size = ops.dp_size;
    found.pp_size = ops.pp_size;
    found.steps_left_out = ops.steps_left_out;
    OSORA_TRY(auto const graph, build_graph(ops));
    Replay const replay(ops, graph);
    measure_steps(ops, replay, found);
    if (!(found.ideal_s > 0)) {
        return Error{Errc::invalid_input, "its ops take no time"};
    }
    put_back(ops, replay, found);
    rank_workers(ops, found);
    measure_shares(ops, replay, found);
    name_holder(found);
    return found;
}

}  // namespace osora::db::whatif
