// Private to segmentation.cpp: whether values alternate between two speeds. Pure.
#pragma once

#include "db/analysis/changepoint/segmentation.hpp"

namespace osora::db::analysis::changepoint {

/// The two groups whose values differ least from their means (exact, over the sorted values), if
/// each has 15 % of the values, their distance exceeds their width, and values switch between them
/// more often than levels do.
[[nodiscard]] std::optional<Bimodality> two_modes(std::span<double const> values);

}  // namespace osora::db::analysis::changepoint
