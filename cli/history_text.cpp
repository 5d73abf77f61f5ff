// `osora history` for people: one line a run, newest first.
#include "base/units.hpp"
#include "cli/report_render.hpp"
#include "cli/terminal.hpp"
#include "cli/text_table.hpp"

#include <fmt/format.h>

#include <cmath>

namespace osora::cli {
namespace {

constexpr int kNameColumns = 22;

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
            text_cell(clipped(printable(run.name), kNameColumns)),
            text_cell(row.state.word),
            {std::to_string(run.ranks), ""},
            {steps_text(row.run), ""},
            {step, ""},
            {loss, ""},
            {utc_text(run.submitted_us).substr(0, 16), ""}};
}

}  // namespace

std::string history_text(std::vector<HistoryRow> const& rows) {
    if (rows.empty()) return "no run; osora submit starts one\n";
    TextTable table;
    table.columns = {
        {"run", ""},  {"name", "", false}, {"state", "", false}, {"ranks", ""},
        {"step", ""}, {"time", ""},        {"loss", ""},         {"submitted (UTC)", "", false}};
    for (auto const& row : rows) table.rows.push_back(row_of(row));
    return draw_text(table);
}

}  // namespace osora::cli
