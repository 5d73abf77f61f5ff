#include "db/analysis/detection.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace osora::db::analysis {
namespace {

using changepoint::GateState;
using changepoint::SeriesState;

constexpr double kNearNoises = 2;
constexpr double kNoiseMin = 0.005;  // of the level

/// Steps of all runs by bucket.
using Mix = std::map<std::string, double>;

double step_time(Measured const& run, Mix const& mix) {
    double weighted = 0, steps = 0;
    for (auto const& bucket : run.buckets) {
        auto const found = mix.find(bucket.bucket);
        if (found == mix.end() || !std::isfinite(bucket.step_s_median)) continue;
        weighted += found->second * bucket.step_s_median;
        steps += found->second;
    }
    double all = 0;
    for (auto const& [bucket, count] : mix) all += count;
    return steps > 0 && steps == all ? weighted / steps : run.step_s_mix;
}

RunGroup group_of(std::vector<SeriesRun const*> const& members) {
    auto const& first = *members.front();
    RunGroup group;
    group.size = size_of(first.summary);
    group.work = first.work;
    Mix mix;
    for (auto const* run : members) {
        for (auto const& bucket : run->summary.measured->buckets) {
            if (bucket.steps > 0) mix[bucket.bucket] += bucket.steps;
        }
    }
    for (auto const* run : members) {
        double const seconds = step_time(*run->summary.measured, mix);
        if (!std::isfinite(seconds)) continue;
        group.numbers.push_back(run->summary.run.number);
        group.names.push_back(run->summary.run.name);
        group.run_ids.push_back(run->summary.run.run_id);
        group.step_s.push_back(seconds);
    }
    return group;
}

/// The newest run of [start, stop) that was about as fast as `level`, so that a run that was slow
/// once is not taken for its level; without one the newest.
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

std::vector<RunGroup> run_groups(std::vector<SeriesRun> const& runs) {
    std::map<std::pair<Facts, RunSize>, std::vector<SeriesRun const*>> members;
    for (auto const& run : runs) {
        if (has_enough_steps(run.summary)) {
            members[{run.work, size_of(run.summary)}].push_back(&run);
        }
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

std::optional<std::size_t> last_faster(RunGroup const& group, std::size_t index,
                                       double min_effect) {
    for (std::size_t i = index; i-- > 0;) {
        if (group.step_s[i] * (1 + min_effect) <= group.step_s[index]) return i;
    }
    return std::nullopt;
}

int last_faster_run(RunGroup const& group, int number, double min_effect) {
    auto const at = std::ranges::find(group.numbers, number);
    if (at == group.numbers.end()) return 0;
    auto const index = static_cast<std::size_t>(at - group.numbers.begin());
    auto const faster = last_faster(group, index, min_effect);
    return faster ? group.numbers[*faster] : 0;
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
    return detection;
}

Finding finding_of(Detection const& detection) {
    auto const series = detection.verdict.value;
    auto const newest = detection.newest.value;
    if (series == SeriesState::regressed || newest == GateState::confirmed) return Finding::bad;
    bool const unknown = series == SeriesState::undecided && newest == GateState::undecided;
    return unknown || newest == GateState::suspect ? Finding::undecided : Finding::good;
}

RunPair runs_to_compare(Detection const& detection) {
    auto const& [group, robust, verdict, newest] = detection;
    int const count = static_cast<int>(group.numbers.size());
    auto const compare = [&](int slow_from, double before, double after) -> RunPair {
        if (slow_from < 1) return {};
        return {group.numbers[typical(detection, {0, slow_from}, before)],
                group.numbers[typical(detection, {slow_from, count}, after)]};
    };
    if (verdict.value == SeriesState::regressed) {
        auto const& point = robust.points.back();
        return compare(point.index, point.before, point.after);
    }
    double const slow = group.step_s.empty() ? 0 : group.step_s.back();
    if (newest.value == GateState::confirmed) return compare(count - 2, newest.level, slow);
    if (newest.value == GateState::suspect) return compare(count - 1, newest.level, slow);
    return {};
}

}  // namespace osora::db::analysis
