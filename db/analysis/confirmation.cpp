#include "db/analysis/confirmation.hpp"

#include "db/record/facts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace osora::db::analysis {
namespace {

using changepoint::GateState;

constexpr std::string_view kInfix = "-again-";

/// Of the buckets that the repeat has.
Mix common_mix(Mix const& all, Measured const& repeat) {
    Mix mix;
    for (auto const& bucket : repeat.buckets) {
        auto const found = all.find(bucket.bucket);
        if (bucket.steps > 0 && found != all.end()) mix.insert(*found);
    }
    return mix;
}

SeriesRun const* run_of(std::vector<SeriesRun> const& runs, RunGroup const& group, int number) {
    auto const found = std::ranges::find_if(runs, [&](SeriesRun const& run) {
        return run.summary.run.number == number && run.work == group.work &&
               size_of(run.summary) == group.size && run.summary.measured;
    });
    return found == runs.end() ? nullptr : &*found;
}

std::vector<std::string> hosts_missing(RunSummary const& suspect, RunSummary const& repeat) {
    std::vector<std::string> missing;
    for (auto const& node : suspect.nodes) {
        bool const there = std::ranges::any_of(
            repeat.nodes, [&](RunNode const& other) { return other.hostname == node.hostname; });
        if (!there) missing.push_back(node.hostname);
    }
    return missing;
}

}  // namespace

std::string repeat_series(std::string_view series, int number) {
    return fmt::format("{}{}{}", series, kInfix, number);
}

bool is_repeat_series(std::string_view series) {
    auto const at = series.rfind(kInfix);
    if (at == 0 || at == std::string_view::npos) return false;
    auto const digits = series.substr(at + kInfix.size());
    return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<Repeat> judge_repeat(Detection const& detection, std::vector<SeriesRun> const& runs,
                                   std::vector<SeriesRun> const& repeats,
                                   changepoint::GateOptions const& options) {
    auto const& group = detection.group;
    if (detection.newest.value != GateState::suspect) return std::nullopt;
    auto const again = std::find_if(repeats.rbegin(), repeats.rend(), [&](SeriesRun const& run) {
        // One that ended before a stage says nothing about it, although it has it in its plan.
        int const stage = last_stage_step(run.work);
        return has_enough_steps(run.summary) && size_of(run.summary) == group.size &&
               run.work == group.work && (stage == 0 || run.summary.measured->next_step > stage);
    });
    if (again == repeats.rend()) return std::nullopt;
    Mix const mix = common_mix(group.mix, *again->summary.measured);
    if (mix.empty()) return std::nullopt;
    std::vector<double> values;
    SeriesRun const* suspect = nullptr;
    for (int const number : group.numbers) {
        suspect = run_of(runs, group, number);
        if (suspect == nullptr) return std::nullopt;
        values.push_back(step_s_of(*suspect->summary.measured, mix));
    }
    auto const& points = detection.robust.points;
    std::size_t const level = points.empty() ? 0 : static_cast<std::size_t>(points.back().index);
    std::span<double const> before(values.data(), values.size() - 1);
    if (before.size() >= level + static_cast<std::size_t>(options.history_min)) {
        before = before.subspan(level);
    }
    std::vector<double> const attempts{values.back(), step_s_of(*again->summary.measured, mix)};
    return Repeat{again->summary.run.number, gate(before, attempts, options),
                  hosts_missing(suspect->summary, again->summary)};
}

void apply_repeat(Detection& detection, Repeat const& repeat) {
    auto const& decision = repeat.decision;
    if (decision.value == GateState::undecided) return;
    std::string const first = detection.newest.reason;
    bool const confirmed = decision.value == GateState::confirmed;
    detection.newest.value = confirmed ? GateState::confirmed : GateState::dismissed;
    detection.newest.reason =
        fmt::format("{}; run {} repeated it and was {:.1f} % {} that{}", first, repeat.number,
                    100 * std::abs(decision.effect), decision.effect >= 0 ? "over" : "under",
                    confirmed ? ", too" : "");
    detection.repeat = repeat.number;
}

}  // namespace osora::db::analysis
