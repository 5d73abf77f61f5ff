#include "db/analysis/metric_trends.hpp"

#include "base/robust.hpp"
#include "db/analysis/changepoint/false_discovery.hpp"
#include "db/analysis/changepoint/series_verdict.hpp"
#include "db/analysis/changepoint/split_null.hpp"

#include <algorithm>
#include <cmath>

namespace osora::db::analysis {
namespace {

using namespace changepoint;

constexpr int kRunsBeside = 50;  // of a change, on either side: more runs add nothing

/// Stores a share s as 1 + s, so that the minimum effect is in shares of the step.
double offset_of(MetricKind kind) {
    return kind == MetricKind::share_of_step ? 1 : 0;
}

double bytes_of(std::int64_t bytes) {
    return bytes > 0 ? static_cast<double>(bytes) : kUnknown;
}

std::optional<MetricTrend> trend_of(MetricSeries const& metric,
                                    SegmentationOptions const& options) {
    double const offset = offset_of(metric.kind);
    std::vector<double> values;
    for (double const value : metric.values) values.push_back(offset + value);
    auto const robust = robust_change_points(values, options);
    auto const verdict = series_verdict(values, robust, Direction::higher_is_worse, options);
    if (verdict.value != SeriesState::regressed) return std::nullopt;
    auto const& point = robust.points.back();
    int const level = robust.points.size() < 2 ? 0 : robust.points.end()[-2].index;
    auto const from = values.begin() + std::max(level, point.index - kRunsBeside);
    auto const count = std::min<std::ptrdiff_t>(values.end() - from, 2 * kRunsBeside);
    std::vector<double> noises;
    for (auto at = from; at != from + count; ++at) noises.push_back(std::log(*at) / robust.noise);
    return MetricTrend{.name = metric.name,
                       .kind = metric.kind,
                       .index = point.index,
                       .before = point.before - offset,
                       .after = point.after - offset,
                       .p = permutation_p(noises, {.min_segment = options.min_segment})};
}

}  // namespace

std::vector<MetricSeries> metric_series(std::vector<Measured const*> const& runs) {
    std::vector<MetricSeries> metrics{{"data wait", MetricKind::share_of_step, {}},
                                      {"exposed comm", MetricKind::share_of_step, {}},
                                      {"wait for ranks", MetricKind::share_of_step, {}},
                                      {"host memory", MetricKind::bytes, {}},
                                      {"tensor memory", MetricKind::bytes, {}}};
    for (auto const* run : runs) {
        std::vector<double> const figures{run->data_share, run->comm_share, run->wait_share,
                                          bytes_of(run->rss_bytes),
                                          bytes_of(run->peak_allocated_bytes)};
        for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i].values.push_back(figures[i]);
    }
    return metrics;
}

MetricTrends metric_trends(std::vector<MetricSeries> const& metrics,
                           SegmentationOptions const& options) {
    MetricTrends trends;
    for (auto const& metric : metrics) {
        bool const known = std::ranges::all_of(metric.values, [&](double value) {
            return std::isfinite(value) && offset_of(metric.kind) + value > 0;
        });
        if (!known || static_cast<int>(metric.values.size()) < values_needed(options)) continue;
        ++trends.tested;
        if (auto trend = trend_of(metric, options)) trends.worse.push_back(std::move(*trend));
    }
    return trends;
}

void adjust(std::vector<MetricTrends*> const& all, double false_discovery) {
    std::vector<double> p;
    for (auto const* trends : all) {
        for (auto const& trend : trends->worse) p.push_back(trend.p);
        // Metrics without a change have a p of 1.
        p.insert(p.end(), static_cast<std::size_t>(trends->tested) - trends->worse.size(), 1.0);
    }
    auto const adjusted = adjusted_p(p);
    auto at = adjusted.begin();
    for (auto* trends : all) {
        for (std::size_t i = 0; i < trends->worse.size(); ++i) {
            trends->worse[i].adjusted_p = at[static_cast<std::ptrdiff_t>(i)];
        }
        at += trends->tested;
        std::erase_if(trends->worse,
                      [&](auto const& trend) { return trend.adjusted_p > false_discovery; });
    }
}

}  // namespace osora::db::analysis
