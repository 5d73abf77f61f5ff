// Private to bisect/: estimates the level of a hybrid from a few trials, when a run is occasionally
// far slower than usual. Pure.
#pragma once

#include "db/analysis/bisect/bisect.hpp"

#include <span>
#include <vector>

namespace osora::db::analysis {

/// Spread from one run to the next.
struct Noise {
    double sigma_s = 0;
    double freedom = 0;  // degrees of freedom of the estimate
};

/// Median of the within-group differences of all pairs, so that a run that is far off in half of
/// the groups does no harm. Pooled with history's sigma if given, and not below the floor.
/// `level_s` is good's level.
[[nodiscard]] Noise noise_of(std::span<std::vector<double> const> groups,
                             BisectOptions const& options, double level_s);

struct Level {
    double value_s = kNotMeasured;
    double error_s = 0;  // standard error
};
/// The median of three or more, the mean of two.
[[nodiscard]] Level level_of(std::span<double const> samples, Noise const& noise);

/// Probabilities that samples come from a hybrid at `low`, at `high`, or in between.
struct LevelPosterior {
    double low = 0, between = 0, high = 0;
};
/// Student's t with 4 degrees of freedom, so that one odd run never decides alone. A value outside
/// [low, high] counts as at the nearer end: hybrids may be better than good or worse than bad.
[[nodiscard]] LevelPosterior level_posterior(std::span<double const> samples, Level const& low,
                                             Level const& high, double sigma_s);

/// True for a first sample that fits neither level: outside by more than 4 sigma, or further than
/// that from both.
[[nodiscard]] bool is_odd(double sample, Level const& low, Level const& high, double sigma_s);

/// True when the samples near the median outnumber the others by two (two samples: when they are
/// near each other): one odd run of three may be the exception, or the first of many.
[[nodiscard]] bool is_steady(std::span<double const> samples, double sigma_s);

/// The smallest part of the gap that can be distinguished from nothing: `kPartOfGap` of it, or what
/// `trials` on either side resolve.
[[nodiscard]] double resolution_s(double gap_s, double sigma_s, int trials);

inline constexpr double kPartOfGap = 0.12;

}  // namespace osora::db::analysis
