// Order statistics for figures that a few odd steps must not move. Pure; NaN values are skipped,
// and no values give NaN.
#pragma once

#include <span>
#include <vector>

namespace osora {

/// The median; the mean of the two middle values for an even count.
[[nodiscard]] double median(std::vector<double> values);

/// The standard deviation of a normal distribution is this many times its MAD.
constexpr double kMadToDeviation = 1.4826;

struct Spread {
    double median = 0;
    double mad = 0;  // median |x - median|, not scaled to a standard deviation
};
[[nodiscard]] Spread median_and_mad(std::vector<double> values);

[[nodiscard]] double mean(std::span<double const> values);

}  // namespace osora
