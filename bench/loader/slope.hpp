// Robust slope of a series, to distinguish growth from noise. Pure.
#pragma once

#include <span>

namespace osora::bench {

struct Slope {
    double median = 0.0;    // Theil-Sen: the median over all pairs of points
    double upper_95 = 0.0;  // of the two-sided 95 % interval (Sen 1968, by Kendall's variance)
};

/// At least 10 points with different x; y per unit of x. O(n^2).
[[nodiscard]] Slope theil_sen(std::span<double const> x, std::span<double const> y);

}  // namespace osora::bench
