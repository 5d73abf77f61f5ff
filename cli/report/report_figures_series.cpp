// The charts of a series, and figures as JSON.
#include "base/text/units.hpp"
#include "cli/report/report_figures.hpp"
#include "cli/report/report_render.hpp"
#include "cli/report/trend_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace osora::cli {

using namespace db::analysis;
namespace json = protocol::json;

json::value figure_json(double value) {
    if (!std::isfinite(value)) return nullptr;
    return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

json::array figures_json(std::vector<double> const& values) {
    json::array array;
    array.reserve(values.size());
    for (double const value : values) array.push_back(figure_json(value));
    return array;
}

json::object unit_json(TimeUnit const& unit) {
    return {{"name", unit.name}, {"per_second", unit.per_second}};
}

namespace {

json::array scaling_json(SeriesReport const& report) {
    json::array rows;
    for (auto const& row : report.rows) {
        rows.push_back({{"ranks", row.ranks},
                        {"samples_per_s", figure_json(row.samples_per_s)},
                        {"predicted_samples_per_s",
                         figure_json(row.samples_per_s / row.predicted_over_measured)},
                        {"efficiency", figure_json(row.efficiency)}});
    }
    return rows;
}

PageFigure throughput_figure(SeriesReport const& report) {
    PageFigure figure;
    figure.id = "throughput";
    figure.title = "Throughput over ranks";
    figure.caption =
        "Both axes are logarithmic. Ideal: the smallest size's samples/s of a rank times the "
        "ranks. Plan: what the plans of these runs expected.";
    figure.label = fmt::format("Curve of samples a second for {} to {} ranks",
                               format_count(report.rows.front().ranks),
                               format_count(report.rows.back().ranks));
    figure.data = {{"kind", "throughput"}, {"height", 340}, {"rows", scaling_json(report)}};
    return figure;
}

PageFigure efficiency_figure(SeriesReport const& report) {
    PageFigure figure;
    figure.id = "efficiency";
    figure.title = "Efficiency over ranks";
    figure.caption = "Throughput of a rank against that of the smallest size.";
    figure.label =
        fmt::format("Curve of the efficiency, {:.0f} % at {} ranks",
                    100 * report.rows.back().efficiency, format_count(report.rows.back().ranks));
    figure.data = {{"kind", "efficiency"}, {"height", 280}, {"rows", scaling_json(report)}};
    return figure;
}

json::array levels_json(SeriesCharts const& charts) {
    json::array levels;
    for (auto const& level : charts.levels) {
        levels.push_back(
            {{"first", level.first}, {"last", level.last}, {"step_s", figure_json(level.step_s)}});
    }
    return levels;
}

json::array changes_json(SeriesCharts const& charts, TimeUnit const& unit) {
    json::array changes;
    for (auto const& change : charts.changes) {
        auto const& run = charts.runs[static_cast<std::size_t>(change.at)];
        changes.push_back({{"at", change.at},
                           {"effect", figure_json(change.after / change.before - 1)},
                           {"label", fmt::format("run {}, {}\n{} -> {} {} ({})", run.number,
                                                 date_text(run.submitted_us),
                                                 seconds_cell(change.before, unit).text,
                                                 seconds_cell(change.after, unit).text, unit.name,
                                                 change_text(change.after / change.before - 1))}});
    }
    return changes;
}

PageFigure runs_figure(SeriesCharts const& charts) {
    std::vector<double> seconds;
    json::array runs;
    for (auto const& run : charts.runs) {
        seconds.push_back(run.step_s);
        runs.push_back({{"number", run.number},
                        {"ranks", run.ranks},
                        {"nodes", run.nodes},
                        {"submitted", utc_text(run.submitted_us)},
                        {"step_s", figure_json(run.step_s)},
                        {"mad", figure_json(run.mad)}});
    }
    auto const unit = time_unit(seconds);
    PageFigure figure;
    figure.id = "runs";
    figure.title = "Step time of the runs";
    figure.caption =
        "Medians ± median absolute deviation, oldest run first; buckets are weighted alike in all "
        "runs.";
    if (!charts.levels.empty()) figure.caption += " Broad lines: the median of a level.";
    if (!charts.changes.empty()) {
        figure.caption += " Vertical lines: the first run of a new level.";
    }
    figure.label = fmt::format("Step time of {} runs, {} change{} of level", charts.runs.size(),
                               charts.changes.size(), charts.changes.size() == 1 ? "" : "s");
    figure.data = {{"kind", "runs"},
                   {"height", charts.changes.empty() ? 300 : 360},
                   {"unit", unit_json(unit)},
                   {"runs", runs},
                   {"levels", levels_json(charts)},
                   {"changes", changes_json(charts, unit)}};
    return figure;
}

}  // namespace

std::vector<PageFigure> series_figures(SeriesReport const& report, SeriesCharts const& charts) {
    std::vector<PageFigure> figures;
    bool const several = charts.runs.size() > 1;
    if (several && !charts.changes.empty()) figures.push_back(runs_figure(charts));
    bool const sizes = !report.rows.empty() && report.rows.front().ranks < report.rows.back().ranks;
    if (sizes) {
        figures.push_back(throughput_figure(report));
        figures.push_back(efficiency_figure(report));
    }
    if (several && charts.changes.empty()) figures.push_back(runs_figure(charts));
    return figures;
}

}  // namespace osora::cli
