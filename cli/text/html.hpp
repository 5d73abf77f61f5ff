// Parts of a page: escapes text, tables and data that come from outside. Pure.
#pragma once

#include "cli/text/text_table.hpp"
#include "protocol/json.hpp"

#include <string>
#include <string_view>

namespace osora::cli {

/// Text for use between tags and inside double quotes. Bytes that are not UTF-8, control characters
/// and those that change the writing direction become U+FFFD.
[[nodiscard]] std::string html_text(std::string_view text);

/// A table with a caption and header cells; each figure carries all its digits in data-value.
[[nodiscard]] std::string html_table(TextTable const& table, std::string_view caption);

/// JSON for a <script type="application/json">: nothing in it can end the block.
[[nodiscard]] std::string html_json(protocol::json::value const& value);

/// Text for a json::string: as html_text(), but not escaped.
[[nodiscard]] std::string clean_text(std::string_view text);

}  // namespace osora::cli
