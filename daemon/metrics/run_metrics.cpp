// Records may be damaged when they are replayed: those that no controller writes are left out.
#include "daemon/metrics/run_metrics.hpp"

#include "protocol/journal/event_limits.hpp"
#include "protocol/notice_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::daemon {
namespace {

using namespace protocol;

constexpr std::array<std::string_view, 6> kPhases{"data_wait",    "forward",   "backward",
                                                  "exposed_comm", "optimizer", "other"};

FigureSummary figure_of(MergedSteps const& steps, std::string const& name, std::size_t index) {
    auto const column = steps.columns.find(name);
    return column == steps.columns.end() ? FigureSummary{}
                                         : summary_of(steps, name, column->second, index);
}

}  // namespace

void RunMetrics::Sum::add(double value, std::int64_t times) {
    if (!std::isfinite(value) || value < 0 || times <= 0) return;
    sum += value * static_cast<double>(times);
    count += times;
}

void RunMetrics::take(JournalRecord const& record) {
    fold(view_, record);
    if (!problem_of(record.event).empty()) return;
    if (auto const* steps = std::get_if<MergedSteps>(&record.event)) {
        take_steps(*steps, record.wall_us);
    } else if (auto const* sums = std::get_if<CollectiveSums>(&record.event)) {
        take_collectives(*sums);
    } else if (auto const* part = std::get_if<ProbePart>(&record.event)) {
        take_probe(*part);
    } else if (auto const* notice = std::get_if<RunNotice>(&record.event)) {
        take_notice(*notice);
    }
}

/// A step whose ranks come in several records counts once, with the ranks of its first one.
void RunMetrics::take_steps(MergedSteps const& steps, std::int64_t wall_us) {
    if (steps.attempt < attempt_) return;
    if (steps.attempt > attempt_) {
        attempt_ = steps.attempt;
        next_step_ = 0;
    }
    for (std::size_t i = 0; i < steps.bucket.size(); ++i) {
        for (auto const phase : kPhases) {
            auto const figure = figure_of(steps, fmt::format("{}_s", phase), i);
            if (figure.n > 0) phases_[std::string(phase)].add(figure.mean, figure.n);
        }
        auto const retries = figure_of(steps, "alloc_retries", i);
        if (retries.n > 0) alloc_retries_.add(retries.mean, retries.n);
        int const step = steps.step0 + static_cast<int>(i);
        if (step < next_step_) continue;
        next_step_ = step + 1;
        last_step_us_ = wall_us;
        auto const time = figure_of(steps, "step_time_s", i);
        if (time.n > 0) steps_.add(time.max);
    }
}

void RunMetrics::take_collectives(CollectiveSums const& sums) {
    if (!is_sane(sums)) return;
    for (auto const& each : sums.sums) {
        if (each.rank_steps <= 0) continue;
        auto const& name = each.cost.name;
        if (!waits_.contains(name) && waits_.size() >= kOperationsMax) continue;
        auto const steps = static_cast<double>(each.rank_steps);
        waits_[name].add(each.cost.exposed_s / steps, each.rank_steps);
    }
}

/// What two nodes reach, alone or with all others in disjoint pairs, at the largest size.
void RunMetrics::take_probe(ProbePart const& event) {
    auto const part = from_json<topology::ProbeResult>(event.part);
    if (part.has_error()) return;
    if (!part->nodes.empty()) nodes_ = part->nodes;
    for (auto const& each : part->pairs) {
        bool const counts = each.stage == topology::ProbeStage::matching ||
                            each.stage == topology::ProbeStage::retest;
        if (!counts || !each.network.empty() || !(each.seconds > 0)) continue;
        auto& pair = pairs_[{each.from, each.to}];
        if (each.size_bytes < pair.size_bytes) continue;
        pair.size_bytes = each.size_bytes;
        pair.bytes_per_s = static_cast<double>(each.size_bytes) / each.seconds;
    }
    slowest_.clear();
    for (auto const& [nodes, pair] : pairs_) {
        slowest_.push_back(pair);
        slowest_.back().from = node_name(static_cast<std::size_t>(nodes.first));
        slowest_.back().to = node_name(static_cast<std::size_t>(nodes.second));
    }
    std::ranges::stable_sort(slowest_, {}, &Pair::bytes_per_s);
    if (slowest_.size() > kPairsLabelled) slowest_.resize(kPairsLabelled);
}

std::string RunMetrics::node_name(std::size_t index) const {
    return index < nodes_.size() ? nodes_[index] : fmt::format("node {}", index);
}

void RunMetrics::take_notice(RunNotice const& notice) {
    if (notice.kind == kThroughputSag) sagging_ = true;
    if (notice.kind == kThroughputBack) sagging_ = false;
}

MetricLabels RunMetrics::labels() const {
    return {{"run", fmt::format("{}", view_.number)},
            {"name", view_.run_name},
            {"series", facts_.series}};
}

}  // namespace osora::daemon
