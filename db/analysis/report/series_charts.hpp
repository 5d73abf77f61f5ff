// The runs of a series in order, for its chart. Pure.
#pragma once

#include "db/analysis/report/series_report.hpp"

#include <optional>
#include <vector>

namespace osora::db::analysis {

struct RunPoint {
    int number = 0, ranks = 1, nodes = 1;
    std::optional<std::int64_t> submitted_us;
    double step_s = kUnknown, mad = kUnknown;  // as RunGroup
};

/// Runs of one size that are as fast as each other: [first, last] are indices into the runs.
struct RunLevel {
    int first = 0, last = 0;
    double step_s = kUnknown;  // median
};

/// A new level; `at` is the index of its first run.
struct RunChange {
    int at = 0;
    double before = kUnknown, after = kUnknown;  // medians
};

struct SeriesCharts {
    std::vector<RunPoint> runs;  // of the table's rows, oldest first
    std::vector<RunLevel> levels;
    std::vector<RunChange> changes;  // ascending
};

[[nodiscard]] SeriesCharts series_charts(SeriesReport const& report);

}  // namespace osora::db::analysis
