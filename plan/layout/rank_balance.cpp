// The longest of n independent draws: it is at most t with the probability F(t)^n.
#include "plan/layout/rank_balance.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace osora::plan {

RankBalance balance_of_draws(std::span<double const> shares, std::span<double const> times_s,
                             int ranks) {
    OSORA_CHECK_EQ(shares.size(), times_s.size());
    std::vector<std::size_t> order(shares.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return times_s[i]; });
    RankBalance balance;
    double below = 0, at_most = 0;  // of one draw
    for (std::size_t const i : order) {
        at_most = std::min(1.0, at_most + shares[i]);
        balance.mean_s += shares[i] * times_s[i];
        balance.longest_s += times_s[i] * (std::pow(at_most, ranks) - std::pow(below, ranks));
        below = at_most;
    }
    if (ranks == 1) balance.longest_s = balance.mean_s;  // without rounding
    return balance;
}

}  // namespace osora::plan
