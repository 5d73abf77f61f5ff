#include "cli/bisect/history_sigma.hpp"

#include "base/robust.hpp"
#include "db/analysis/detection.hpp"

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using db::FactKind;

constexpr double kMadToSigma = 1.4826;
constexpr double kMedianError = 1.2533;  // of a median, in sigma / sqrt(n): sqrt(pi / 2)

std::optional<std::int64_t> recorded_config(db::RunRecord const& run) {
    return run.fingerprint[static_cast<std::size_t>(FactKind::config)];
}

/// Standard error of the mix of buckets after `steps` steps with the shares of `measured`.
double error_within(db::analysis::Measured const& measured, int steps) {
    double total = 0, sum = 0;
    for (auto const& bucket : measured.buckets) {
        if (!std::isfinite(bucket.step_s_mad)) continue;
        total += bucket.steps;
        sum += bucket.steps * std::pow(kMadToSigma * kMedianError * bucket.step_s_mad, 2);
    }
    return total > 0 && steps > 0 ? std::sqrt(sum / total / steps) : 0;
}

}  // namespace

HistorySigma sigma_of_like_runs(std::vector<db::analysis::SeriesRun> const& series,
                                db::analysis::RunSummary const& good, int steps) {
    if (!good.measured || !recorded_config(good.run)) return {};
    std::vector<db::analysis::SeriesRun> alike;
    for (auto const& each : series) {
        if (recorded_config(each.summary.run) == recorded_config(good.run)) alike.push_back(each);
    }
    for (auto const& group : db::analysis::run_groups(alike)) {
        if (std::ranges::count(group.numbers, good.run.number) == 0) continue;
        auto const& step_s = group.step_s;
        if (std::ssize(step_s) < kLikeRunsMin) return {};
        std::vector<double> changes;
        for (std::size_t i = 1; i < step_s.size(); ++i) {
            changes.push_back(std::abs(step_s[i] - step_s[i - 1]));
        }
        double const between = kMadToSigma * median(std::move(changes)) / std::sqrt(2.0);
        double const sigma_s = std::hypot(between, error_within(*good.measured, steps));
        if (sigma_s > 0) return {sigma_s, static_cast<int>(step_s.size())};
        return {};  // compute times were set in the run file, not measured
    }
    return {};
}

}  // namespace osora::cli
