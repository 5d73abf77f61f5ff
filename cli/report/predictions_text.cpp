#include "cli/report/predictions_text.hpp"

#include "base/text/text.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"
#include "protocol/json.hpp"

#include <fmt/format.h>

namespace osora::cli {
namespace {

using db::analysis::PredictionReport;
using db::analysis::PredictionRow;
using protocol::to_json;
namespace json = protocol::json;

constexpr std::size_t kNameColumns = 20;

TextTable table_of(PredictionReport const& report) {
    std::vector<double> seconds;
    for (PredictionRow const& each : report.rows) seconds.push_back(each.measured_s);
    auto const unit = time_unit(seconds);
    TextTable table;
    table.columns = {{"run", "run"},
                     {"name", "name", false},
                     {"ranks", "ranks"},
                     {"layout", "layout", false},
                     {"predicted " + unit.name, "predicted_step_s"},
                     {"measured", "step_s"},
                     {"pred/meas", "predicted_over_measured"},
                     {"stated ±", "step_time_error"},
                     {"", "predicted_peak_memory_gib"},
                     {"", "peak_memory_gib"}};
    for (PredictionRow const& each : report.rows) {
        table.rows.push_back({count_cell(each.number),
                              text_cell(clipped(each.name, kNameColumns)),
                              count_cell(each.ranks),
                              text_cell(each.layout),
                              seconds_cell(each.predicted_s, unit),
                              seconds_cell(each.measured_s, unit),
                              ratio_cell(each.ratio()),
                              percent_cell(each.stated_error),
                              {"", raw_number(each.predicted_gib)},
                              {"", raw_number(each.measured_gib)}});
        table.rows.back()[1].raw = each.name;
    }
    return table;
}

std::string summary_of(PredictionReport const& report) {
    if (report.rows.empty()) {
        return "no run has a plan and enough measured steps to compare it with\n";
    }
    auto const runs = counted(static_cast<std::int64_t>(report.rows.size()), "run");
    std::string text =
        fmt::format("step times of {}: mean error {}, median {}, worst {} (run {})\n", runs,
                    percent_cell(report.mean_error).text, percent_cell(report.median_error).text,
                    percent_cell(report.worst_error).text, report.worst_run);
    if (report.with_stated_error > 0) {
        text += fmt::format("{} of {} within the error that their plans stated\n", report.covered,
                            report.with_stated_error);
    }
    return text;
}

std::string json_of(PredictionReport const& report) {
    json::array rows;
    for (PredictionRow const& each : report.rows) {
        rows.push_back({{"run", each.number},
                        {"name", each.name},
                        {"nodes", each.nodes},
                        {"ranks", each.ranks},
                        {"layout", each.layout},
                        {"predicted_step_s", to_json(each.predicted_s)},
                        {"step_s", to_json(each.measured_s)},
                        {"predicted_over_measured", to_json(each.ratio())},
                        {"step_time_error", to_json(each.stated_error)},
                        {"predicted_peak_memory_gib", to_json(each.predicted_gib)},
                        {"peak_memory_gib", to_json(each.measured_gib)}});
    }
    json::object const object{{"schema", "osora.report/1"},
                              {"kind", "predictions"},
                              {"runs", std::move(rows)},
                              {"mean_error", to_json(report.mean_error)},
                              {"median_error", to_json(report.median_error)},
                              {"worst_error", to_json(report.worst_error)},
                              {"worst_run", report.worst_run},
                              {"with_stated_error", report.with_stated_error},
                              {"covered", report.covered}};
    return json::serialize(object) + "\n";
}

}  // namespace

std::string render(PredictionReport const& report, ReportFormat format) {
    switch (format) {
        case ReportFormat::json:
            return json_of(report);
        case ReportFormat::csv:
            return draw_csv(table_of(report));
        case ReportFormat::md:
            return draw_markdown(table_of(report)) + "\n" + summary_of(report);
        case ReportFormat::text:
        case ReportFormat::html:
            break;
    }
    return report.rows.empty() ? summary_of(report)
                               : draw_text(table_of(report)) + "\n" + summary_of(report);
}

}  // namespace osora::cli
