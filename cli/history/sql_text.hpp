// The rows of a user's query as text for a terminal, Markdown, CSV and JSON. Pure.
#pragma once

#include "cli/report/report_render.hpp"
#include "db/store/sql_query.hpp"

#include <string>

namespace osora::cli {

/// NULL is NULL in text and Markdown, empty in CSV, null in JSON. A blob is its size in text, and
/// x'0A0B' in the others, as SQLite writes it. Real numbers have six digits in text and all of them
/// in the others; infinities are words in JSON too. Text that is not UTF-8 gets U+FFFD in JSON.
/// JSON: "schema": "osora.history.sql/1", "columns", "rows" (arrays), "more". Columns of text that
/// do not fit `columns` are cut and end in "..."; where that is not enough each row stands as
/// lines "name  value".
[[nodiscard]] std::string render(db::SqlResult const& result, ReportFormat format, int columns);

}  // namespace osora::cli
