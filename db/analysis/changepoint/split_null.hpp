// How much a series without a change of level seems to gain from one. The place of a change is
// picked because the values differ there, so a test that takes it as given is far too sure; here
// the best of all places is compared with the best of series drawn at random. Pure: draws come from
// a fixed seed.
//
// Values are in noises. The gain of a split is what it takes off the sum of min((y - median)^2, 9):
// single far values count 9 however far they are, as with the robust detector.
#pragma once

#include "db/analysis/changepoint/change_point.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace osora::db::analysis::changepoint {

struct SplitOptions {
    int min_segment = 3;                               // values on either side
    int draws = 20'000;                                // series; no p is below 1 / (draws + 1)
    Direction direction = Direction::higher_is_worse;  // only changes for the worse count
    std::uint64_t seed = 1;
};

/// 0 when `after` is not worse.
[[nodiscard]] double split_gain(std::span<double const> before, std::span<double const> after,
                                Direction direction);

/// The largest over all places; 0 for fewer than 2 min_segment values.
[[nodiscard]] double largest_gain(std::span<double const> values, SplitOptions const& options);

/// Share of orders of `values` that gain as much: valid for exchangeable values.
[[nodiscard]] double permutation_p(std::span<double const> values, SplitOptions const& options);

/// Series drawn from a pool of noise, shared by many series: it shows a tail that the few values of
/// one series cannot.
class SplitNull {
public:
    /// `pool` must not be empty.
    SplitNull(std::vector<double> pool, SplitOptions const& options);

    /// Share of series of `count` drawn values whose largest gain is `gain` or more.
    [[nodiscard]] double p(int count, double gain);

private:
    [[nodiscard]] std::vector<double> const& largest(int count);

    std::vector<double> pool_;
    SplitOptions options_;
    std::map<int, std::vector<double>> largest_;  // by count; ascending
};

}  // namespace osora::db::analysis::changepoint
