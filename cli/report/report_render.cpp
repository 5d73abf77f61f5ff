// Chooses the renderer of each format; the short formats are here.
#include "cli/report/report_render.hpp"

#include "base/text/csv.hpp"
#include "base/text/text.hpp"
#include "cli/report/report_tables.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::cli {
namespace {

using namespace db::analysis;

/// Rows "section,item,quantity,value" for every CSV column of a table except its first, which is
/// the item.
std::string long_csv(std::string const& section, TextTable const& table) {
    std::string text;
    for (auto const& row : table.rows) {
        for (std::size_t i = 1; i < row.size(); ++i) {
            if (table.columns[i].key.empty()) continue;
            text += fmt::format("{},{},{},{}\n", section, csv_field(row[0].raw),
                                table.columns[i].key, csv_field(row[i].raw));
        }
    }
    return text;
}

}  // namespace

std::string run_report_csv(RunReport const& report) {
    auto const& run = report.run.run;
    auto const& m = report.measured;
    std::vector<std::pair<std::string, std::string>> const rows{
        {"number", std::to_string(run.number)},
        {"name", run.name},
        {"series", run.series},
        {"arch", run.arch},
        {"verdict", report.state.word},
        {"cause", report.state.cause},
        {"ranks", std::to_string(run.ranks)},
        {"nodes", std::to_string(run.nodes)},
        {"wall_s", raw_number(report.wall_s)},
        {"steps", std::to_string(m.steps)},
        {"steps_used", std::to_string(m.steps_used)},
        {"warmup_steps", std::to_string(m.warmup_steps)},
        {"steps_repeated", std::to_string(m.steps_repeated)},
        {"relaunches", std::to_string(report.relaunches.size())},
        {"step_s_median", raw_number(m.step_s_median)},
        {"step_s_mad", raw_number(m.step_s_mad)},
        {"step_s_mix", raw_number(m.step_s_mix)},
        {"predicted_step_s", raw_number(report.step_s.predicted)},
        {"predicted_over_measured", raw_number(report.step_s.ratio())},
        {"samples_per_s", raw_number(m.samples_per_s)},
        {"loss_first", raw_number(m.loss_first)},
        {"loss_last", raw_number(m.loss_last)},
        {"peak_memory_gib", raw_number(report.memory_gib.measured)}};
    std::string text = "section,item,quantity,value\n";
    for (auto const& [key, value] : rows) text += "run,," + key + "," + csv_field(value) + "\n";
    return text + long_csv("phase", phase_table(report)) +
           long_csv("bucket", bucket_table(report)) +
           long_csv("collective", collective_table(report)) + long_csv("node", probe_table(report));
}

std::string run_report_markdown(RunReport const& report) {
    auto const& run = report.run.run;
    auto const& m = report.measured;
    std::string text =
        fmt::format("# run {}: {}, {}\n\n", run.number, markdown_text(run.name), report.state.word);
    if (!report.state.cause.empty()) text += "- cause: " + markdown_text(report.state.cause) + "\n";
    std::string const what = run.arch.empty() ? run.job : run.job + " " + run.arch;
    text += fmt::format("- {}, {} on {}, {}\n", markdown_text(what), counted(run.ranks, "rank"),
                        counted(run.nodes, "node"), utc_text(run.submitted_us));
    auto const unit = time_unit({m.step_s_median});
    text += fmt::format("- {} {}/step (median ± MAD of {} steps; {} of warm-up left out){}\n",
                        spread_cell(m.step_s_median, m.step_s_mad, unit).text, unit.name,
                        m.steps_used, m.warmup_steps,
                        std::isnan(m.samples_per_s)
                            ? std::string()
                            : fmt::format(", {} samples/s", three_digits(m.samples_per_s)));
    if (!std::isnan(report.step_s.ratio())) {
        text += fmt::format("- predicted/measured {}\n", ratio_cell(report.step_s.ratio()).text);
    }
    text += fmt::format("- loss {} -> {}, means of the first and last {} steps\n",
                        three_digits(m.loss_first), three_digits(m.loss_last), m.loss_window);
    text += fmt::format("- {}, {} repeated, {}\n",
                        counted(static_cast<std::int64_t>(report.relaunches.size()), "relaunch"),
                        counted(m.steps_repeated, "step"),
                        counted(report.checkpoints.count, "checkpoint"));
    for (auto const& each : report.notices) {
        text += fmt::format("- {} x {}: {}\n", markdown_text(each.kind), each.count,
                            markdown_text(each.first));
    }
    if (!report.phases.empty()) text += "\n" + draw_markdown(phase_table(report));
    if (!report.buckets.empty()) text += "\n" + draw_markdown(bucket_table(report));
    if (!report.collectives.empty()) text += "\n" + draw_markdown(collective_table(report));
    if (!report.probe.nodes.empty()) text += "\n" + draw_markdown(probe_table(report));
    return text;
}

ReportFormat format_of(Arguments const& arguments) {
    auto format = ReportFormat::text;
    if (arguments.has("--json")) return ReportFormat::json;
    auto const name = arguments.value("--format");
    if (name) boost::describe::enum_from_string(name->c_str(), format);  // checked before: choices
    return format;
}

OptionSpec format_option() {
    return {.name = "--format",
            .value = "FORMAT",
            .help = "text, json, csv or md.",
            .choices = "text|json|csv|md"};
}

std::string render(RunReport const& report, ReportFormat format) {
    switch (format) {
        case ReportFormat::text:
            return run_report_text(report);
        case ReportFormat::json:
            return report_json(report);
        case ReportFormat::csv:
            return run_report_csv(report);
        case ReportFormat::md:
        case ReportFormat::html:
            break;
    }
    return run_report_markdown(report);
}

std::string render(SeriesReport const& report, ReportFormat format) {
    switch (format) {
        case ReportFormat::text:
            return series_report_text(report);
        case ReportFormat::json:
            return report_json(report);
        case ReportFormat::csv:
            return draw_csv(scaling_table(report));
        case ReportFormat::md:
        case ReportFormat::html:
            break;
    }
    return series_report_markdown(report);
}

}  // namespace osora::cli
