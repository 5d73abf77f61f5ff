// Private to the report commands: charts in the form that a page needs, with captions that say what
// is drawn and what is left out. Pure.
#pragma once

#include "cli/report/report_page.hpp"
#include "db/analysis/report/pair_matrix.hpp"
#include "db/analysis/report/rank_heat_map.hpp"
#include "db/analysis/report/run_charts.hpp"
#include "db/analysis/report/series_charts.hpp"

#include <vector>

namespace osora::cli {

/// The charts that have data.
[[nodiscard]] std::vector<PageFigure> run_figures(db::analysis::RunReport const& report,
                                                  db::analysis::RunHistory const& history);
[[nodiscard]] std::vector<PageFigure> series_figures(db::analysis::SeriesReport const& report,
                                                     db::analysis::SeriesCharts const& charts);

[[nodiscard]] PageFigure step_time_figure(db::analysis::RunReport const& report,
                                          db::analysis::RunCharts const& charts);
[[nodiscard]] PageFigure rank_work_figure(db::analysis::RankHeatMap const& map);
[[nodiscard]] PageFigure pair_figure(db::analysis::PairMatrix const& matrix);

/// Six significant digits, more than a chart shows; null for unknown values.
[[nodiscard]] protocol::json::value figure_json(double value);
[[nodiscard]] protocol::json::array figures_json(std::vector<double> const& values);
[[nodiscard]] protocol::json::object unit_json(TimeUnit const& unit);

}  // namespace osora::cli
