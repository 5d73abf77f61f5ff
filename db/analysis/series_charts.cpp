#include "db/analysis/series_charts.hpp"

#include <algorithm>

namespace osora::db::analysis {

SeriesCharts series_charts(SeriesReport const& report, std::vector<SeriesRun> const& runs,
                           std::vector<int> change_points) {
    SeriesCharts charts;
    for (auto const& each : runs) {
        auto const& run = each.summary.run;
        bool const shown = std::ranges::any_of(report.rows, [&](ScalingRow const& row) {
            return row.ranks == run.ranks && row.nodes == run.nodes &&
                   std::ranges::find(row.runs, run.number) != row.runs.end();
        });
        auto const& measured = each.summary.measured;
        if (!shown || !measured) continue;
        charts.runs.push_back({.number = run.number,
                               .ranks = run.ranks,
                               .nodes = run.nodes,
                               .submitted_us = run.submitted_us,
                               .step_s = measured->step_s_median,
                               .mad = measured->step_s_mad});
    }
    charts.change_points = std::move(change_points);
    return charts;
}

}  // namespace osora::db::analysis
