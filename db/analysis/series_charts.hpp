// The runs of a series one after the other, for its chart. Pure.
#pragma once

#include "db/analysis/series_report.hpp"

#include <optional>
#include <vector>

namespace osora::db::analysis {

struct RunPoint {
    int number = 0, ranks = 1, nodes = 1;
    std::optional<std::int64_t> submitted_us;
    double step_s = kUnknown, mad = kUnknown;
};

struct SeriesCharts {
    std::vector<RunPoint> runs;  // of the table's rows, oldest first
    /// Indices into `runs`: the first run of each new level, as a detector found them.
    std::vector<int> change_points;
};

[[nodiscard]] SeriesCharts series_charts(SeriesReport const& report,
                                         std::vector<SeriesRun> const& runs,
                                         std::vector<int> change_points = {});

}  // namespace osora::db::analysis
