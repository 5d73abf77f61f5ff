// Which of many rows to draw: long series become short ones that still show every spike. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace osora::db::analysis {

/// Of `rows` (indices into the columns, ascending) those that a drawing of at most about `limit`
/// points needs: the first, the last, and of each group of equally many neighbours the rows with
/// the lowest and the highest value of each column. All rows when they are few. NaN is passed over.
[[nodiscard]] std::vector<std::size_t> keep_extremes(
    std::span<std::vector<double> const* const> columns, std::span<std::size_t const> rows,
    std::size_t limit);

}  // namespace osora::db::analysis
