#include "db/analysis/attribution/run_comparison.hpp"

#include "base/robust.hpp"
#include "db/analysis/measure.hpp"
#include "db/analysis/stragglers.hpp"
#include "db/record/facts.hpp"
#include "protocol/journal/run_events.hpp"
#include "protocol/steps/bucket_label.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace osora::db::analysis {
namespace {

/// Runs that differ in these do different work in a step.
constexpr std::array<std::string_view, 3> kWork{"run.job", "model.arch", "worker.command"};

std::set<std::string> buckets_of(std::vector<RunHistory> const& runs) {
    std::set<std::string> buckets;
    for (auto const& run : runs) buckets.insert(run.steps.buckets.begin(), run.steps.buckets.end());
    return buckets;
}

Facts work_facts(RunHistory const& run) {
    Facts facts;
    for (auto const& [key, value] : run.config) {
        auto const is = [&](std::string_view wanted) { return key.starts_with(wanted); };
        if (std::ranges::any_of(kWork, is)) facts.emplace(key, value);
    }
    return facts;
}

/// Why seconds of a step of A and of B cannot be compared; "": they can.
std::string other_work(std::vector<RunHistory> const& a, std::vector<RunHistory> const& b) {
    auto const work = work_facts(a.front());
    for (auto const* side : {&a, &b}) {
        for (auto const& run : *side) {
            auto const other = work_facts(run);
            if (other != work) return describe_difference(work, other);
        }
    }
    auto const buckets_a = buckets_of(a), buckets_b = buckets_of(b);
    auto const mixed = [](std::string const& label) { return protocol::is_mixed_bucket(label); };
    bool const any_mixed =
        std::ranges::any_of(buckets_a, mixed) || std::ranges::any_of(buckets_b, mixed);
    bool const shared = std::ranges::any_of(
        buckets_a, [&](auto const& label) { return buckets_b.contains(label); });
    if (buckets_a.empty() || buckets_b.empty() || shared || any_mixed) return {};
    return fmt::format("no bucket in common: {} / {}", *buckets_a.begin(), *buckets_b.begin());
}

/// Of a thinned run the steps are in its figures, not in its table.
double checkpoint_s(std::vector<RunHistory> const& runs) {
    double seconds = 0, steps = 0;
    for (auto const& run : runs) {
        auto const& kept = run.kept;
        steps += kept ? static_cast<double>(kept->measured.steps + kept->measured.steps_undone)
                      : static_cast<double>(run.steps.size());
        for (auto const& event : run.events) {
            if (event.kind != protocol::CheckpointCompleted::kType) continue;
            auto const read = protocol::decode<protocol::CheckpointCompleted>(event.body);
            if (read.has_value()) seconds += read->seconds;
        }
    }
    return steps > 0 ? seconds / steps : kUnknown;
}

Efficiency efficiency_of(std::vector<RunHistory> const& runs) {
    double useful_s = 0, most_s = 0, step_s = 0;
    for (auto const& run : runs) {
        for (auto const& step : step_parts(run.steps)) {
            useful_s += step.weight * step[Part::compute];
            most_s += step.weight *
                      (step[Part::compute] + step[Part::imbalance] + step[Part::slower_rank]);
            step_s += step.weight * step.step_s;
        }
    }
    if (useful_s <= 0 || step_s <= 0) return {};
    return {useful_s / step_s, useful_s / most_s, most_s / step_s};
}

ComparedSide side_of(std::vector<RunHistory> const& runs) {
    ComparedSide side;
    std::vector<double> medians, mads;
    for (auto const& run : runs) {
        side.runs.push_back(run.summary);
        auto const measured = run.kept ? run.kept->measured : measure(run.steps);
        medians.push_back(measured.step_s_median);
        mads.push_back(measured.step_s_mad);
    }
    side.step_s_median = median(medians);
    side.step_s_mad = runs.size() > 1 ? median_and_mad(medians).mad : mads.front();
    side.efficiency = efficiency_of(runs);
    side.checkpoint_s = checkpoint_s(runs);
    auto const& last = runs.back();
    side.straggler = straggler_of(last.steps, select_steps(last.steps).used);
    if (side.straggler) {
        // A thinned run has only steps near its faults.
        for (auto const& each : last.kept ? last.kept->rank_work : rank_work(last.arrivals)) {
            if (each.rank == side.straggler->rank) side.slowest_rank = each;
        }
    }
    return side;
}

SpeedVerdict verdict_of(Waterfall const& found) {
    if (!found.enough()) return SpeedVerdict::undecided;
    double const least_s = kLeastGap * (found.a_s + found.work_s);
    if (found.gap_s >= least_s && found.interval.low > 0) return SpeedVerdict::slower;
    if (found.gap_s <= -least_s && found.interval.high < 0) return SpeedVerdict::faster;
    return SpeedVerdict::same;
}

double computation_of(Waterfall const& found) {
    auto const row = std::ranges::find(found.rows, "compute", &WaterfallRow::key);
    return row == found.rows.end() || row->b_s <= 0 ? kUnknown : row->a_s / row->b_s;
}

}  // namespace

RunComparison compare_runs(std::vector<RunHistory> const& a, std::vector<RunHistory> const& b) {
    RunComparison found;
    found.a = side_of(a);
    found.b = side_of(b);
    found.differences = differences(a.back(), b.back());
    found.other_work = other_work(a, b);
    if (!found.other_work.empty()) {
        found.verdict = SpeedVerdict::other_work;
        return found;
    }
    Side left, right;
    for (auto const& run : a) left.runs.push_back(&run.steps);
    for (auto const& run : b) right.runs.push_back(&run.steps);
    found.waterfall = waterfall(left, right);
    found.verdict = verdict_of(found.waterfall);
    found.computation = computation_of(found.waterfall);
    return found;
}

}  // namespace osora::db::analysis
