// Metrics as values, and as the two texts that Prometheus reads: OpenMetrics 1.0 and its older text
// format (docs/rfc/031). Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::daemon {

/// Types of the OpenMetrics specification.
enum class MetricType { gauge, counter, summary, info, stateset };

/// Values may be any text: what is no UTF-8 or would hide text is written as '?'.
using MetricLabels = std::vector<std::pair<std::string, std::string>>;

struct MetricSample {
    std::string suffix = {};  // "_sum", "_count" of a summary; a counter and an info add theirs
    MetricLabels labels = {};
    double value = 0;
};

/// All samples of a name. One without samples is left out.
struct MetricFamily {
    std::string name;  // without "_total" or "_info"; ends with the unit, when it has one
    MetricType type = MetricType::gauge;
    std::string unit;  // "seconds", "bytes" or ""
    std::string help;
    std::vector<MetricSample> samples = {};
};

enum class MetricsFormat { open_metrics, prometheus };

/// `common` is put before the labels of each sample.
[[nodiscard]] std::string metrics_text(std::vector<MetricFamily> const& families,
                                       MetricLabels const& common, MetricsFormat format);

/// The format that the header Accept prefers; OpenMetrics when it has no preference, or when it
/// cannot be read.
[[nodiscard]] MetricsFormat format_for(std::string_view accept);

[[nodiscard]] std::string_view content_type(MetricsFormat format);

}  // namespace osora::daemon
