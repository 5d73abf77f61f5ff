// The rows of a user's query as text, Markdown, CSV and JSON. Pure.
#pragma once

#include "cli/report/report_render.hpp"
#include "db/store/sql_query.hpp"

#include <string>

namespace osora::cli {

/// NULL is NULL in text and Markdown, empty in CSV, null in JSON. A blob is its size in text, and
/// x'0A0B' in the other formats, as SQLite writes it. Real numbers have six digits in text and all
/// of them in the other formats; infinities are words in JSON too. Bytes that are not UTF-8 become
/// U+FFFD in JSON. JSON: "schema": "osora.history.sql/1", "columns", "rows" (arrays), "more". Text
/// columns that do not fit `columns` are cut and end in "..."; if that is not enough, each row is
/// printed as lines "name  value".
[[nodiscard]] std::string render(db::SqlResult const& result, ReportFormat format, int columns);

}  // namespace osora::cli
