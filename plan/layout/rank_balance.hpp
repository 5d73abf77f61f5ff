// How evenly the ranks of a step are loaded. Pure.
#pragma once

#include <span>

namespace osora::plan {

struct RankBalance {
    double mean_s = 0;     // of a rank's work in a step
    double longest_s = 0;  // of the slowest rank's, for which the others wait
    [[nodiscard]] double ratio() const { return mean_s > 0 ? longest_s / mean_s : 1; }
};

/// Expected values for `ranks` ranks that each draw a bucket of their own in every step
/// (debug.bucket_schedule = "original"): bucket i with probability `shares[i]`, which takes
/// `times_s[i]`. The shares sum to 1. One rank, or one bucket: mean and longest are equal.
[[nodiscard]] RankBalance balance_of_draws(std::span<double const> shares,
                                           std::span<double const> times_s, int ranks);

}  // namespace osora::plan
