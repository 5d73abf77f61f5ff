#include "db/analysis/detection.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace osora::db::analysis {
namespace {

using changepoint::GateState;
using changepoint::SeriesState;

constexpr double kNearNoises = 2;
constexpr double kNoiseMin = 0.005;  // of the level
constexpr std::size_t kFasterRuns = 5;

/// A figure of the buckets, weighted by `mix`; `otherwise` if one of them was not measured.
double mixed(Measured const& run, Mix const& mix, double BucketMeasure::*figure, double otherwise) {
    double weighted = 0, steps = 0;
    for (auto const& bucket : run.buckets) {
        auto const found = mix.find(bucket.bucket);
        if (found == mix.end() || !std::isfinite(bucket.*figure)) continue;
        weighted += found->second * bucket.*figure;
        steps += found->second;
    }
    double all = 0;
    for (auto const& [bucket, count] : mix) all += count;
    return steps > 0 && steps == all ? weighted / steps : otherwise;
}

RunGroup group_of(std::vector<SeriesRun const*> const& members) {
    auto const& first = *members.front();
    RunGroup group;
    group.size = size_of(first.summary);
    group.work = first.work;
    for (auto const* run : members) {
        for (auto const& bucket : run->summary.measured->buckets) {
            if (bucket.steps > 0) group.mix[bucket.bucket] += bucket.steps;
        }
    }
    std::vector<Measured const*> counted;
    for (auto const* run : members) {
        auto const& measured = *run->summary.measured;
        double const seconds = step_s_of(measured, group.mix);
        if (!std::isfinite(seconds)) continue;
        group.numbers.push_back(run->summary.run.number);
        group.names.push_back(run->summary.run.name);
        group.run_ids.push_back(run->summary.run.run_id);
        group.submitted_us.push_back(run->summary.run.submitted_us);
        group.step_s.push_back(seconds);
        group.mad_s.push_back(
            mixed(measured, group.mix, &BucketMeasure::step_s_mad, measured.step_s_mad));
        counted.push_back(&measured);
    }
    group.metrics = metric_series(counted);
    return group;
}

/// The newest run of [start, stop) that was about as fast as `level`, so that a single slow run
/// does not represent the level; if there is none, the newest.
std::size_t typical(Detection const& detection, changepoint::Segment const& part, double level) {
    auto const& values = detection.group.step_s;
    double const near = kNearNoises * std::max(kNoiseMin, detection.robust.noise) * level;
    for (int i = part.stop; i-- > part.start;) {
        auto const at = static_cast<std::size_t>(i);
        if (std::abs(values[at] - level) <= near) return at;
    }
    return static_cast<std::size_t>(part.stop) - 1;
}

}  // namespace

double batch_factor(Measured const& run) {
    constexpr double kRounding = 1e-9;
    double steps = 0, seconds = 0;
    for (auto const& bucket : run.buckets) {
        if (bucket.steps == 0) continue;
        steps += bucket.steps;
        seconds += bucket.steps * bucket.step_s_median;
    }
    double const factor = run.step_s_mix * run.steps_used / seconds;
    bool const is_known = steps == run.steps_used && std::isfinite(factor);
    return is_known && std::abs(factor - 1) > kRounding ? factor : 1;
}

double step_s_of(Measured const& run, Mix const& mix) {
    double const medians = mixed(run, mix, &BucketMeasure::step_s_median, kUnknown);
    return std::isfinite(medians) ? batch_factor(run) * medians : run.step_s_mix;
}

bool shadows_imports(std::vector<SeriesRun> const& runs) {
    return std::ranges::any_of(runs, [](SeriesRun const& run) {
        return has_enough_steps(run.summary) && !is_imported(run.summary.run);
    });
}

std::vector<int> take_unfinished(std::vector<SeriesRun>& runs) {
    std::vector<int> numbers;
    for (auto const& each : runs) {
        auto const& run = each.summary.run;
        if (!run.ended_us) numbers.push_back(run.number);
    }
    std::erase_if(runs, [](SeriesRun const& each) { return !each.summary.run.ended_us; });
    return numbers;
}

std::vector<RunGroup> run_groups(std::vector<SeriesRun> const& runs) {
    bool const own_only = shadows_imports(runs);
    std::map<std::pair<Facts, RunSize>, std::vector<SeriesRun const*>> members;
    for (auto const& run : runs) {
        if (!has_enough_steps(run.summary)) continue;
        if (own_only && is_imported(run.summary.run)) continue;
        members[{run.work, size_of(run.summary)}].push_back(&run);
    }
    std::vector<RunGroup> groups;
    for (auto const& [key, own] : members) {
        RunGroup group = group_of(own);
        if (!group.step_s.empty()) groups.push_back(std::move(group));
    }
    std::ranges::sort(groups, std::ranges::greater(),
                      [](RunGroup const& group) { return group.numbers.back(); });
    return groups;
}

std::optional<std::size_t> good_run_before(RunGroup const& group, std::size_t index,
                                           double min_effect) {
    std::vector<std::size_t> faster;  // newest first
    for (std::size_t i = index; i-- > 0 && faster.size() < kFasterRuns;) {
        if (group.step_s[i] * (1 + min_effect) <= group.step_s[index]) faster.push_back(i);
    }
    if (faster.empty()) return std::nullopt;
    std::vector<double> seconds;
    for (auto const i : faster) seconds.push_back(group.step_s[i]);
    double const usual = median(seconds);
    auto const distance = [&](std::size_t i) { return std::abs(group.step_s[i] - usual); };
    auto const near = std::ranges::find_if(
        faster, [&](std::size_t i) { return distance(i) <= min_effect / 2 * usual; });
    return near != faster.end() ? *near : *std::ranges::min_element(faster, {}, distance);
}

int good_run_of(RunGroup const& group, int number) {
    auto const at = std::ranges::find(group.numbers, number);
    if (at == group.numbers.end()) return 0;
    auto const good = good_run_before(group, static_cast<std::size_t>(at - group.numbers.begin()));
    return good ? group.numbers[*good] : 0;
}

Detection detect(RunGroup group, DetectionOptions const& options) {
    Detection detection;
    detection.group = std::move(group);
    auto const& values = detection.group.step_s;
    detection.robust = changepoint::robust_change_points(values, options.robust);
    detection.verdict = changepoint::series_verdict(values, detection.robust,
                                                    options.gate.direction, options.robust);
    auto const& points = detection.robust.points;
    int const level_start = points.empty() ? 0 : points.back().index;
    if (!values.empty()) {
        detection.newest = changepoint::gate_newest(values, level_start, options.gate);
    }
    if (options.metrics) {
        detection.metrics = metric_trends(detection.group.metrics, options.robust);
    }
    return detection;
}

Regression regression_of(Detection const& detection) {
    auto const newest = detection.newest.value;
    if (detection.verdict.value == SeriesState::regressed || newest == GateState::confirmed) {
        return Regression::confirmed;
    }
    return newest == GateState::suspect ? Regression::suspected : Regression::none;
}

Finding finding_of(Detection const& detection) {
    auto const regression = regression_of(detection);
    if (regression == Regression::confirmed) return Finding::bad;
    bool const unknown = detection.verdict.value == SeriesState::undecided &&
                         detection.newest.value == GateState::undecided;
    return unknown || regression == Regression::suspected ? Finding::undecided : Finding::good;
}

RunPair runs_to_compare(Detection const& detection) {
    auto const& [group, robust, verdict, newest, metrics, repeat] = detection;
    int const count = static_cast<int>(group.numbers.size());
    auto const compare = [&](int slow_from, double level) -> RunPair {
        if (slow_from < 1) return {};
        auto const bad = typical(detection, {slow_from, count}, level);
        auto const good = good_run_before(group, bad);
        if (!good) return {};
        return {group.numbers[*good], group.numbers[bad]};
    };
    if (verdict.value == SeriesState::regressed) {
        return compare(robust.points.back().index, robust.points.back().after);
    }
    double const slow = group.step_s.empty() ? 0 : group.step_s.back();
    bool const two_in_a_row = newest.value == GateState::confirmed && repeat == 0;
    if (two_in_a_row) return compare(count - 2, slow);
    if (regression_of(detection) != Regression::none) return compare(count - 1, slow);
    return {};
}

}  // namespace osora::db::analysis
