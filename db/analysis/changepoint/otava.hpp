// The change points that Apache Otava finds (its MATH.md and otava/analysis.py at 1ceb153):
// windows that overlap by half are split by E-divisive means (Matteson and James 2014) while
// Student's t test accepts the split, then the weakest points are merged away (Fleming et al. 2023,
// Hunter). Pure. A reference: same answers as Otava, its habits included (biased standard
// deviations, equal variances, a point goes at p == max_p and at min_magnitude exactly).
#pragma once

#include "db/analysis/changepoint/change_point.hpp"

#include <span>
#include <vector>

namespace osora::db::analysis::changepoint {

struct OtavaOptions {
    int window = 50;           // values, at least 2
    double max_p = 0.001;      // limit for merging; a first pass splits at 10 times it (2 above
                               // 0.05)
    double min_magnitude = 0;  // larger of |after/before - 1| and |before/after - 1|
};

/// Values must be finite. Levels are means; p is from the t test between the final segments, which
/// Otava does not always show; NaN between equal constants; [lo, hi] is only the index.
[[nodiscard]] std::vector<ChangePoint> otava_change_points(std::span<double const> values,
                                                           OtavaOptions const& options = {});

}  // namespace osora::db::analysis::changepoint
