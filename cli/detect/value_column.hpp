// Private to osora detect: one column of numbers from a CSV text. Pure.
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

/// One value per row; a first row that is not a number is a header; blank lines do not count.
/// `column` is a name from the header or a number from 1; it may be omitted when there is only one
/// column. Columns may be split by semicolons, tabs or '|'; numbers then may have a decimal comma.
/// Text, empty fields and non-finite numbers are errors, which name the line.
[[nodiscard]] Result<std::vector<double>> read_value_column(
    std::string_view text, std::optional<std::string> const& column);

/// "0.05", "5 %", "5%": a number with or without the sign.
[[nodiscard]] Result<double> parse_share(std::string_view option, std::string const& text);

}  // namespace osora::cli
