// Multiple tests: which p values are still significant. Pure.
#pragma once

#include <span>
#include <vector>

namespace osora::db::analysis::changepoint {

/// Benjamini and Hochberg (1995): for each p the least false discovery rate at which its test is
/// rejected, so that rejecting all of 0.05 and less makes at most 5 % of what is rejected false
/// (and where nothing is there, names anything in at most 5 of 100 cases). NaN counts as 1.
[[nodiscard]] std::vector<double> adjusted_p(std::span<double const> p);

}  // namespace osora::db::analysis::changepoint
