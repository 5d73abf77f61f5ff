// The column names of a list of clips, and its numbers in the formats of pandas, ffprobe, OpenCV
// and spreadsheets. Pure.
#pragma once

#include "base/result.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

struct ClipColumn {
    enum Place : std::size_t { path, text, num_frames, height, width, fps, count };
};
inline constexpr std::array<std::string_view, ClipColumn::count> kClipColumns{
    "path", "text", "num_frames", "height", "width", "fps"};

/// [data] columns: osora's name -> the list's; "" says that the list has no such column.
using ColumnNames = std::map<std::string, std::string>;
/// Position of each column in a row.
using ColumnPlaces = std::array<std::optional<std::size_t>, ClipColumn::count>;

/// Errors: invalid_input for an unknown name, or a list without paths.
[[nodiscard]] Result<void> check_column_names(ColumnNames const& named);

/// "NAME=COLUMN" of a command line, as an entry of [data] columns. Errors: invalid_input for a
/// missing "=", an unknown name, or a duplicate.
[[nodiscard]] Result<ColumnNames> columns_of_words(std::vector<std::string> const& words);

/// Names in `header` are matched without surrounding blanks and case. Errors: invalid_input with
/// the names in the header: no path, a duplicate or missing name, or a caption under another name,
/// which would otherwise be ignored silently.
[[nodiscard]] Result<ColumnPlaces> find_columns(std::vector<std::string> const& header,
                                                ColumnNames const& named);

/// 0 if the field is empty or unknown ("", nan, None, <NA>, 0, ...). "51", "51.0", "30000/1001",
/// and with `decimal_comma` "29,97". Errors: invalid_input for any other text, naming `column`.
[[nodiscard]] Result<double> listed_number(std::string_view column, std::string_view field,
                                           bool decimal_comma = false);

/// The same for a whole number below 1e9.
[[nodiscard]] Result<int> listed_count(std::string_view column, std::string_view field,
                                       bool decimal_comma = false);

}  // namespace osora::plan
