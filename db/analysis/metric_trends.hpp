// What else got worse along a series beside its step time: shares of the step that ranks spend
// waiting for data, communicating or waiting for each other, and memory. They explain a change of
// step time and decide nothing; since many are looked at, the false discovery rate over all of them
// is held at 5 %. Pure.
#pragma once

#include "db/analysis/changepoint/segmentation.hpp"
#include "db/analysis/measure.hpp"

#include <boost/describe/enum.hpp>

#include <optional>
#include <string>
#include <vector>

namespace osora::db::analysis {

enum class MetricKind { share_of_step, bytes };
BOOST_DESCRIBE_ENUM(MetricKind, share_of_step, bytes)

/// A value for each run of a group; NaN where a run has none.
struct MetricSeries {
    std::string name;  // "data wait"
    MetricKind kind{};
    std::vector<double> values;
};
[[nodiscard]] std::vector<MetricSeries> metric_series(std::vector<Measured const*> const& runs);

/// The newest level of a metric, if it is worse than the previous one.
struct MetricTrend {
    std::string name;
    MetricKind kind{};
    int index = 0;  // the run with which it began
    double before = 0, after = 0;
    double p = 1;           // share of orders of the two levels' runs
    double adjusted_p = 1;  // over all metrics of all groups: set by adjust()
};

struct MetricTrends {
    int tested = 0;
    std::vector<MetricTrend> worse;
};
/// Shares count from 3 points of the step (min_effect), memory from min_effect of its level.
[[nodiscard]] MetricTrends metric_trends(std::vector<MetricSeries> const& metrics,
                                         changepoint::SegmentationOptions const& options = {});

/// Sets adjusted_p over all of them, and removes those above `false_discovery`.
void adjust(std::vector<MetricTrends*> const& all, double false_discovery = 0.05);

}  // namespace osora::db::analysis
