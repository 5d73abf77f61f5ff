// Private to osora detect: one column of numbers out of a CSV text. Pure.
#pragma once

#include "base/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

/// One value a row; a first row that is no number is a header; blank lines do not count. `column`
/// is a name of the header or a number from 1 on; it may be left out when there is one column.
/// Errors name the line: text, an empty field, and what is not finite are no values.
[[nodiscard]] Result<std::vector<double>> read_value_column(
    std::string_view text, std::optional<std::string> const& column);

/// "0.05", "5 %", "5%": a number without or with the sign.
[[nodiscard]] Result<double> parse_share(std::string_view option, std::string const& text);

}  // namespace osora::cli
