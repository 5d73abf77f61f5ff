// What is said of rows of a list that cannot be used.
#pragma once

#include "worker/data/manifest.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// Rows that describe_skipped() names: fewer than the notices of a kind that a run records at once.
constexpr std::size_t kSkippedNamed = 10;

/// "LIST:LINE: PATH: REASON" of the first rows, and a line with the number of the others, of which
/// a list may have millions. Empty: no row is skipped.
[[nodiscard]] std::vector<std::string> describe_skipped(std::span<SkippedRow const> rows,
                                                        std::string_view list);

/// The error of a list of `rows` rows, all skipped.
[[nodiscard]] Error nothing_usable(std::size_t rows, SkippedRow const& first);

}  // namespace osora::worker
