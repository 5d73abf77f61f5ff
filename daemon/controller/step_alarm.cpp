#include "daemon/controller/step_alarm.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"
#include "protocol/notice_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::daemon {
namespace {

using protocol::RunNotice;

constexpr double kSigmaPerMad = 1.4826;
constexpr double kMedianPerMean = 1.2533;  // standard error of a median over that of a mean

double value_at(protocol::MergedSteps const& steps, char const* name, std::size_t index) {
    auto const column = steps.columns.find(name);
    if (column == steps.columns.end()) return std::nan("");
    auto const summary = summary_of(steps, column->first, column->second, index);
    return summary.n > 0 ? summary.mean : std::nan("");
}

double standard_error(double spread, std::size_t count) {
    return kSigmaPerMad * kMedianPerMean * spread / std::sqrt(static_cast<double>(count));
}

std::vector<double> values(std::deque<double> const& window) {
    return {window.begin(), window.end()};
}

}  // namespace

std::vector<RunNotice> StepAlarm::take(protocol::MergedSteps const& steps) {
    std::vector<RunNotice> notices;
    bool const has_node_0 = steps.first_node == 0 && !steps.next_steps.empty();
    if (!has_node_0 || steps.attempt < attempt_) return notices;
    if (steps.attempt > attempt_) begin_attempt(steps);
    for (std::size_t i = 0; i < steps.bucket.size(); ++i) {
        step_ = steps.step0 + static_cast<int>(i);
        if (step_ < next_step_ || step_ >= steps.next_steps[0]) continue;
        next_step_ = step_ + 1;
        double const step_s = value_at(steps, "step_time_s", i);
        int const ranks =
            i < std::min(steps.samples.size(), steps.ranks.size()) ? steps.ranks[i] : 0;
        double const samples = ranks > 0 ? static_cast<double>(steps.samples[i]) / ranks : 0;
        bool const warm = step_ - first_step_ >= options_.warmup_steps;
        if (warm && samples > 0 && std::isfinite(step_s) && step_s > 0) {
            look_at_time(steps.bucket[i], step_s, samples, notices);
        }
        if (options_.has_loss && steps.columns.contains("loss"))
            look_at_loss(value_at(steps, "loss", i), notices);
    }
    return notices;
}

void StepAlarm::begin_attempt(protocol::MergedSteps const& steps) {
    attempt_ = steps.attempt;
    first_step_ = next_step_ = steps.step0;
    ratios_.clear();
    losses_.clear();
}

void StepAlarm::look_at_time(std::string const& bucket, double step_s, double samples,
                             std::vector<RunNotice>& notices) {
    double const sample_s = step_s / samples;
    auto& reference = references_[bucket];
    if (reference.median_s == 0) {
        reference.seconds.push_back(sample_s);
        if (reference.seconds.size() < static_cast<std::size_t>(options_.reference_steps)) return;
        auto const spread = median_and_mad(std::exchange(reference.seconds, {}));
        reference.median_s = spread.median;
        reference.spread_s = spread.mad;
        return;
    }
    ratio_spread_ = std::max(ratio_spread_, reference.spread_s / reference.median_s);
    ratios_.push_back(sample_s / reference.median_s);
    auto const window = static_cast<std::size_t>(options_.window_steps);
    if (ratios_.size() > window) ratios_.pop_front();
    if (ratios_.size() < window) return;
    double const level = median(values(ratios_));
    double const noise = options_.spreads * standard_error(ratio_spread_, window);
    double const slower_s = (level - 1) * reference.median_s * samples;
    if (!sagging_ && level > 1 + std::max(options_.sag, noise) && slower_s > options_.sag_s) {
        sagging_ = true;
        notices.push_back(notice(std::string(protocol::kThroughputSag), "warning",
                                 fmt::format("steps take {:.2f} times as long as at first{}: the "
                                             "median of the last {}",
                                             level, since(), window)));
    } else if (sagging_ && level < 1 + options_.back) {
        sagging_ = false;
        notices.push_back(notice(std::string(protocol::kThroughputBack), "info",
                                 "steps are as fast as at first again"));
    }
}

void StepAlarm::look_at_loss(double loss, std::vector<RunNotice>& notices) {
    losses_.push_back(loss);
    auto const window = static_cast<std::size_t>(options_.loss_window_steps);
    if (losses_.size() > window) losses_.pop_front();
    auto const missing =
        std::ranges::count_if(losses_, [](double each) { return !std::isfinite(each); });
    constexpr int kMissingMax = 3;
    if (missing >= kMissingMax) {
        if (!std::exchange(diverging_, true)) {
            notices.push_back(
                notice("loss_divergence", "error",
                       fmt::format("the loss of {} of the last {} steps is not a number{}", missing,
                                   losses_.size(), since())));
        }
        return;
    }
    if (losses_.size() < window) return;
    auto const level = median_and_mad(values(losses_));
    // Both levels are uncertain, and the lowest one is the minimum of many.
    double const noise = options_.spreads * std::sqrt(2.0) *
                         standard_error(std::max(lowest_spread_, level.mad), window);
    bool const above = has_lowest_ && level.median > lowest_loss_ + noise &&
                       level.median > lowest_loss_ * (1 + options_.loss_rise);
    if (above && !std::exchange(diverging_, true)) {
        notices.push_back(notice("loss_divergence", "error",
                                 fmt::format("the median loss is {:.3g} over the last {} steps, "
                                             "and was {:.3g}{}",
                                             level.median, window, lowest_loss_, since())));
    }
    if (!has_lowest_ || level.median < lowest_loss_) {
        has_lowest_ = true;
        lowest_loss_ = level.median;
        lowest_spread_ = level.mad;
        diverging_ = false;
    }
}

RunNotice StepAlarm::notice(std::string kind, std::string severity, std::string detail) const {
    RunNotice notice;
    notice.attempt = attempt_;
    notice.step = step_;
    notice.kind = std::move(kind);
    notice.severity = std::move(severity);
    notice.detail = std::move(detail);
    return notice;
}

std::string StepAlarm::since() const {
    constexpr int kNearSteps = 200;
    if (attempt_ <= 0 || step_ - first_step_ > kNearSteps) return "";
    return fmt::format(" since the relaunch at step {}", format_count(first_step_));
}

}  // namespace osora::daemon
