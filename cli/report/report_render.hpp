// Reports as text for 80 columns, Markdown, CSV and JSON. Pure: a report in, a string out that ends
// with a newline.
#pragma once

#include "cli/command/command.hpp"
#include "cli/text/wall_time.hpp"
#include "db/analysis/report/run_report.hpp"
#include "db/analysis/report/series_report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

enum class ReportFormat { text, json, csv, md, html };
BOOST_DESCRIBE_ENUM(ReportFormat, text, json, csv, md, html)

/// Not for html: a page needs more than the report (cli/report/report_page.hpp).
[[nodiscard]] std::string render(db::analysis::RunReport const& report, ReportFormat format);
[[nodiscard]] std::string render(db::analysis::SeriesReport const& report, ReportFormat format);
/// The format that --format and --json select; text without either.
[[nodiscard]] ReportFormat format_of(Arguments const& arguments);
[[nodiscard]] OptionSpec format_option();

/// One object: "schema": "osora.report/1", "kind": "run" | "series".
[[nodiscard]] std::string report_json(db::analysis::RunReport const& report);
[[nodiscard]] std::string report_json(db::analysis::SeriesReport const& report);

/// A run of `osora history` with its state.
struct HistoryRow {
    db::analysis::RunSummary run;
    db::analysis::RunState state;
};
[[nodiscard]] std::string render(std::vector<HistoryRow> const& rows, ReportFormat format);
/// One object: "schema": "osora.history/1".
[[nodiscard]] std::string history_json(std::vector<HistoryRow> const& rows);

}  // namespace osora::cli
