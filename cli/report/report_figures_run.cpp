// The charts of a run.
#include "base/text/units.hpp"
#include "cli/report/report_figures.hpp"
#include "cli/text/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;
namespace json = protocol::json;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr std::size_t kZoomFrom = 40;  // points; a chart with fewer shows all of them

/// "2,001 of 37,000 steps are drawn: of each group of neighbours those with the lowest and highest
/// figures."
std::string drawn_sentence(std::vector<StepLine> const& lines) {
    std::size_t drawn = 0, steps = 0;
    for (auto const& line : lines) {
        drawn += line.step.size();
        steps += line.steps;
    }
    if (drawn >= steps) return {};
    return fmt::format(
        " {} of {} points are drawn: of each group of neighbouring steps those with the lowest "
        "and the highest figures.",
        format_count(static_cast<std::int64_t>(drawn)),
        format_count(static_cast<std::int64_t>(steps)));
}

std::string line_name(StepLine const& line) {
    return line.name.empty() ? "step" : clean_text(line.name);
}

json::array marks_json(std::vector<StepMark> const& marks) {
    json::array list;
    for (auto const& each : marks) {
        list.push_back({{"step", each.step},
                        {"kind", protocol::to_json(each.kind)},
                        {"text", clean_text(each.text)}});
    }
    return list;
}

PageFigure phases_figure(RunReport const& report, PhaseStack const& phases) {
    std::vector<double> seconds{report.measured.step_s_median};
    auto const unit = time_unit(seconds);
    json::array parts;
    for (auto const& each : phases.mean_s) parts.push_back(figures_json(each));
    PageFigure figure;
    figure.id = "phases";
    figure.title = "Where the time of a step goes";
    figure.caption = "Phases stacked, means over ranks";
    if (phases.steps_per_group > 1) {
        figure.caption +=
            fmt::format(" and over {} neighbouring steps", format_count(phases.steps_per_group));
    }
    figure.caption += ".";
    figure.label = fmt::format("Stacked areas over steps: {}", fmt::join(phases.names, ", "));
    figure.data = {{"kind", "stack"},
                   {"height", 320},
                   {"unit", unit_json(unit)},
                   {"names", protocol::to_json(phases.names)},
                   {"step", protocol::to_json(phases.step)},
                   {"steps_per_group", phases.steps_per_group},
                   {"mean_s", parts}};
    return figure;
}

PageFigure memory_figure(RunReport const& report, std::vector<StepLine> const& lines) {
    json::array list;
    for (auto const& line : lines) {
        auto gib = line.max;
        for (double& value : gib) value /= kGiB;
        list.push_back({{"name", clean_text(line.name)},
                        {"step", protocol::to_json(line.step)},
                        {"value", figures_json(gib)}});
    }
    PageFigure figure;
    figure.id = "memory";
    figure.title = "Memory";
    figure.caption = "Of the rank that has most, in each step." + drawn_sentence(lines);
    figure.label = fmt::format("Lines over steps of memory in GiB; peak {} GiB",
                               three_digits(report.memory_gib.measured));
    figure.data = {{"kind", "lines"},   {"height", 240},    {"unit", "GiB"}, {"quantity", "GiB"},
                   {"from_zero", true}, {"group", "steps"}, {"lines", list}};
    return figure;
}

PageFigure loss_figure(RunReport const& report, StepLine const& line) {
    PageFigure figure;
    figure.id = "loss";
    figure.title = "Loss";
    figure.caption = "Mean over ranks." + drawn_sentence({line});
    figure.label = fmt::format("Line of the loss over steps, from {} to {}",
                               three_digits(report.measured.loss_first),
                               three_digits(report.measured.loss_last));
    figure.data = {{"kind", "lines"},
                   {"height", 260},
                   {"unit", ""},
                   {"quantity", "loss"},
                   {"from_zero", false},
                   {"group", "steps"},
                   {"lines", json::array{{{"name", "loss"},
                                          {"step", protocol::to_json(line.step)},
                                          {"value", figures_json(line.mean)}}}}};
    return figure;
}

/// An expected value far from what was measured would flatten all other lines.
bool is_in_frame(StepLine const& line) {
    constexpr double kFar = 3;
    double const ratio = line.expected / line.median;
    return ratio > 1 / kFar && ratio < kFar;
}

std::string expected_sentence(RunCharts const& charts) {
    std::string text, outside;
    for (auto const& line : charts.step_time) {
        if (std::isnan(line.expected)) continue;
        if (is_in_frame(line)) {
            text = " Dashed: what the plan expected";
        } else {
            outside +=
                fmt::format("{}{}", outside.empty() ? "" : ", ", format_seconds(line.expected));
        }
    }
    if (!text.empty()) {
        if (charts.expected_error > 0) {
            text += fmt::format(", ± {:.0f} %", 100 * charts.expected_error);
        }
        text += ".";
    }
    if (!outside.empty()) text += " The plan expected " + outside + ", outside of the frame.";
    return text;
}

std::string step_time_caption(RunReport const& report, RunCharts const& charts) {
    bool const several = charts.step_time.size() > 1;
    std::string text = several ? "Mean over ranks, a line for each bucket" : "Mean over ranks";
    if (report.run.run.ranks > 1) {
        text += "; the band reaches from the fastest to the slowest rank";
    }
    text += ".";
    text += drawn_sentence(charts.step_time);
    if (!charts.warmup.empty()) text += " Shaded: warm-up, left out of the figures above.";
    text += expected_sentence(charts);
    if (charts.marks_left_out > 0) {
        text += fmt::format(" {} more marks are left out.",
                            format_count(static_cast<std::int64_t>(charts.marks_left_out)));
    }
    return text;
}

}  // namespace

PageFigure step_time_figure(RunReport const& report, RunCharts const& charts) {
    auto const unit = time_unit({report.measured.step_s_median});
    json::array lines, warmup;
    std::size_t points = 0;
    bool const band = report.run.run.ranks > 1;
    for (auto const& line : charts.step_time) {
        points += line.step.size();
        lines.push_back(
            {{"name", line_name(line)},
             {"step", protocol::to_json(line.step)},
             {"mean", figures_json(line.mean)},
             {"min", figures_json(band ? line.min : std::vector<double>{})},
             {"max", figures_json(band ? line.max : std::vector<double>{})},
             {"expected", figure_json(is_in_frame(line) ? line.expected : db::kUnknown)}});
    }
    for (auto const& span : charts.warmup) warmup.push_back({span.first, span.last});
    PageFigure figure;
    figure.id = "step-time";
    figure.title = "Step time";
    figure.caption = step_time_caption(report, charts);
    figure.label = fmt::format("Lines of the step time over steps; median {} {}",
                               seconds_cell(report.measured.step_s_median, unit).text, unit.name);
    figure.data = {{"kind", "steps"},
                   {"height", 400},
                   {"group", "steps"},
                   {"zoom", points >= kZoomFrom},
                   {"unit", unit_json(unit)},
                   {"lines", lines},
                   {"warmup", warmup},
                   {"expected_error", charts.expected_error},
                   {"marks", marks_json(charts.marks)}};
    return figure;
}

PageFigure rank_work_figure(RankHeatMap const& map) {
    json::array permille;
    for (double const value : map.excess) {
        permille.push_back(std::isfinite(value) ? json::value(std::llround(1000 * value))
                                                : json::value());
    }
    PageFigure figure;
    figure.id = "rank-work";
    figure.title = "Own work of the ranks";
    figure.caption =
        "What a rank takes in a step before it waits for the others, against the median rank: "
        "orange ranks hold the others up";
    if (map.steps_per_column > 1) {
        figure.caption += fmt::format(". A cell is the median of {} neighbouring steps",
                                      format_count(map.steps_per_column));
    }
    if (map.ranks_per_row > 1) {
        figure.caption += fmt::format(
            "; a row is {} neighbouring ranks, of which the slowest shows", map.ranks_per_row);
    }
    figure.caption += ".";
    figure.label = fmt::format("Heat map of {} ranks over steps", format_count(map.ranks));
    int const rows = static_cast<int>(map.rows());
    figure.data = {{"kind", "rankWork"},
                   {"height", 100 + std::clamp(14 * rows, 120, 640)},
                   {"ranks", map.ranks},
                   {"ranks_per_row", map.ranks_per_row},
                   {"step", protocol::to_json(map.step)},
                   {"excess_permille", permille}};
    return figure;
}

PageFigure pair_figure(PairMatrix const& matrix) {
    json::array names, leaves;
    for (auto const& each : matrix.names) names.push_back(json::string(clean_text(each)));
    for (auto const& each : matrix.leaf_of) leaves.push_back(json::string(clean_text(each)));
    PageFigure figure;
    figure.id = "pairs";
    figure.title = matrix.by_leaf ? "Bandwidth between leaves" : "Bandwidth between nodes";
    figure.caption = fmt::format(
        "Gbit/s, the median over rounds of the slower direction; {} are ordered by "
        "leaf, lines part the leaves. Empty cells were not measured.",
        matrix.by_leaf ? "rows" : "nodes");
    figure.label = fmt::format("Matrix of {} by {} {}", matrix.names.size(), matrix.names.size(),
                               matrix.by_leaf ? "leaves" : "nodes");
    figure.data = {{"kind", "pairs"}, {"square", true},    {"by_leaf", matrix.by_leaf},
                   {"names", names},  {"leaf_of", leaves}, {"gbit_s", figures_json(matrix.gbit_s)}};
    return figure;
}

std::vector<PageFigure> run_figures(RunReport const& report, RunHistory const& history) {
    std::vector<PageFigure> figures;
    auto const charts = run_charts(history, report);
    if (!charts.step_time.empty()) figures.push_back(step_time_figure(report, charts));
    if (charts.phases.names.size() > 1) figures.push_back(phases_figure(report, charts.phases));
    auto const ranks = rank_heat_map(history.arrivals);
    if (!ranks.step.empty()) figures.push_back(rank_work_figure(ranks));
    if (!charts.loss.step.empty()) figures.push_back(loss_figure(report, charts.loss));
    if (!charts.memory.empty()) figures.push_back(memory_figure(report, charts.memory));
    auto const pairs = pair_matrix(history.probe);
    if (!pairs.names.empty()) figures.push_back(pair_figure(pairs));
    return figures;
}

}  // namespace osora::cli
