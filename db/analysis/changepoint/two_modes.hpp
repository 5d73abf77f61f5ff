// Private to robust.cpp: whether values jump between two speeds. Pure.
#pragma once

#include "db/analysis/changepoint/segmentation.hpp"

namespace osora::db::analysis::changepoint {

/// The two groups whose values differ least from their means (exact, over the sorted values), when
/// each has 15 % of the values, they lie further apart than they are wide, and values go from one
/// to the other more often than levels do.
[[nodiscard]] std::optional<Bimodality> two_modes(std::span<double const> values);

}  // namespace osora::db::analysis::changepoint
