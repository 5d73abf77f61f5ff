// p values for two samples of independent values. Pure. For neighbouring segments they are too
// small, because the same values determined the split; p_of_best() corrects for that.
#pragma once

#include <span>

namespace osora::db::analysis::changepoint {

/// Two-sided p of |t| with `degrees` of freedom; 0 for an infinite t, NaN for NaN.
[[nodiscard]] double student_t_p(double t, double degrees);

/// Mann and Whitney's U (1947), two-sided: exact for samples without ties of up to 25 values each,
/// else the normal approximation with corrections for ties and continuity. NaN when a sample is
/// empty; 1 when all values are equal.
[[nodiscard]] double mann_whitney_p(std::span<double const> left, std::span<double const> right);

/// A bound on p of the best of several splits, of which `p` is the least (Bonferroni): the same
/// values chose it. NaN for NaN.
[[nodiscard]] double p_of_best(double p, int splits);

}  // namespace osora::db::analysis::changepoint
