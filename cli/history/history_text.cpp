// `osora history` as a table: one line a run, newest first.
#include "base/text/units.hpp"
#include "cli/report/report_render.hpp"
#include "cli/text/terminal.hpp"
#include "cli/text/text_table.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::cli {
namespace {

constexpr int kRunNameColumns = 22;

std::string steps_text(db::analysis::RunSummary const& run) {
    int const done = run.measured ? run.measured->next_step : 0;
    if (run.run.steps_planned == 0) return done == 0 ? "-" : format_count(done);
    return fmt::format("{}/{}", format_count(done), format_count(run.run.steps_planned));
}

std::vector<TableCell> row_of(HistoryRow const& row) {
    auto const& run = row.run.run;
    db::analysis::Measured const m = row.run.measured.value_or(db::analysis::Measured{});
    auto const loss =
        std::isnan(m.loss_last) ? std::string("-") : fmt::format("{:.3g}", m.loss_last);
    auto const step =
        std::isnan(m.step_s_median) ? std::string("-") : format_seconds(m.step_s_median);
    return {count_cell(run.number),
            {clipped(printable(run.name), kRunNameColumns), run.name},
            text_cell(row.state.word),
            {std::to_string(run.ranks), std::to_string(run.ranks)},
            {steps_text(row.run), std::to_string(m.next_step)},
            {"", std::to_string(run.steps_planned)},
            {step, raw_number(m.step_s_median)},
            {loss, raw_number(m.loss_last)},
            {utc_text(run.submitted_us).substr(0, 16), utc_text(run.submitted_us)}};
}

}  // namespace

std::string render(std::vector<HistoryRow> const& rows, ReportFormat format) {
    TextTable table;
    table.columns = {
        {"run", "run"},     {"name", "name", false}, {"state", "state", false},
        {"ranks", "ranks"}, {"step", "steps"},       {"", "steps_planned"},
        {"time", "step_s"}, {"loss", "loss"},        {"submitted (UTC)", "submitted", false}};
    for (auto const& row : rows) table.rows.push_back(row_of(row));
    switch (format) {
        case ReportFormat::text:
            return rows.empty() ? "no run; osora submit starts one\n" : draw_text(table);
        case ReportFormat::json:
            return history_json(rows);
        case ReportFormat::csv:
            return draw_csv(table);
        case ReportFormat::md:
        case ReportFormat::html:
            break;
    }
    return draw_markdown(table);
}

}  // namespace osora::cli
