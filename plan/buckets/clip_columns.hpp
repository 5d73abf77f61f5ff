// What the columns of a list of clips are called, and its numbers as pandas, ffprobe, OpenCV and
// spreadsheets write them. Pure.
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

/// [data] columns: our name to the list's; "" says that the list has none.
using ColumnNames = std::map<std::string, std::string>;
/// Where the columns are in a row.
using ColumnPlaces = std::array<std::optional<std::size_t>, ClipColumn::count>;

/// Errors: invalid_input, a name that is none of ours, or a list without paths.
[[nodiscard]] Result<void> check_column_names(ColumnNames const& named);

/// "NAME=COLUMN" of a command line, as an entry of [data] columns. Errors: invalid_input, no "=", a
/// name that is none of ours or is given twice.
[[nodiscard]] Result<ColumnNames> columns_of_words(std::vector<std::string> const& words);

/// Names of `header` count without blanks around them and in any case. Errors: invalid_input, with
/// what the header has: no path, a name twice or not there, or a caption by another name that would
/// be left out without a word.
[[nodiscard]] Result<ColumnPlaces> find_columns(std::vector<std::string> const& header,
                                                ColumnNames const& named);

/// 0 where the field says nothing ("", nan, None, <NA>, 0, ...). "51", "51.0", "30000/1001", and
/// with `decimal_comma` "29,97". Errors: invalid_input, any other text, naming `column`.
[[nodiscard]] Result<double> listed_number(std::string_view column, std::string_view field,
                                           bool decimal_comma = false);

/// The same of a whole number below 1e9.
[[nodiscard]] Result<int> listed_count(std::string_view column, std::string_view field,
                                       bool decimal_comma = false);

}  // namespace osora::plan
