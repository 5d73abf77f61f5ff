// Chooses which of many rows to draw: long series become short ones that still show every spike.
// Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace osora::db::analysis {

/// Selects from `rows` (ascending indices into the columns) those for a drawing with about `limit`
/// points: the first, the last, and of each group of equally many neighbours the rows with the
/// lowest and the highest value of each column. All rows when they are few. Skips NaN.
[[nodiscard]] std::vector<std::size_t> keep_extremes(
    std::span<std::vector<double> const* const> columns, std::span<std::size_t const> rows,
    std::size_t limit);

}  // namespace osora::db::analysis
