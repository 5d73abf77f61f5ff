// Against brute force: every place, every order.
#include "db/analysis/changepoint/split_null.hpp"

#include "base/robust.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace osora::db::analysis::changepoint {
namespace {

double cost(std::vector<double> const& values) {
    double const level = median(values);
    double sum = 0;
    for (double const each : values) sum += std::min(9.0, (each - level) * (each - level));
    return sum;
}

double best_gain(std::vector<double> const& values, int side) {
    double best = 0;
    for (auto at = values.begin() + side; values.end() - at >= side; ++at) {
        std::vector<double> const before(values.begin(), at), after(at, values.end());
        if (median(after) <= median(before)) continue;
        best = std::max(best, cost(values) - cost(before) - cost(after));
    }
    return best;
}

TEST(SplitNull, TheGainIsThatOfTheBestPlace) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (int repeat = 0; repeat < 200; ++repeat) {
        std::vector<double> values(static_cast<std::size_t>(4 + repeat % 20));
        for (auto& value : values) value = normal(random);
        if (repeat % 3 == 0) values.back() += 8;
        EXPECT_NEAR(largest_gain(values, {}), best_gain(values, 3), 1e-12) << repeat;
    }
}

TEST(SplitNull, OnlyTheWorseDirectionGains) {
    std::vector<double> const values{0, 0, 0, 5, 5, 5};
    std::vector<double> const low{0, 0, 0}, high{5, 5, 5};
    // The median of all is 2.5, so that each of the six costs 6.25.
    EXPECT_DOUBLE_EQ(split_gain(low, high, Direction::higher_is_worse), 37.5);
    EXPECT_DOUBLE_EQ(split_gain(low, high, Direction::lower_is_worse), 0);
    EXPECT_DOUBLE_EQ(largest_gain(values, {}), 37.5);
    EXPECT_DOUBLE_EQ(largest_gain(values, {.direction = Direction::lower_is_worse}), 0);
    EXPECT_DOUBLE_EQ(largest_gain(std::vector<double>{1, 2, 3, 4, 5}, {}), 0);  // too few
}

TEST(SplitNull, TheShareOfOrdersIsThatOfAllOrders) {
    std::vector<double> values{0.1, -0.4, 0.3, 2.5, 1.9, 3.1, 2.2};
    double const seen = best_gain(values, 3);
    double const p = permutation_p(values, {});
    int orders = 0, as_large = 0;
    std::ranges::sort(values);
    do {
        ++orders;
        as_large += best_gain(values, 3) >= seen - 1e-12;
    } while (std::ranges::next_permutation(values).found);
    EXPECT_NEAR(p, static_cast<double>(as_large) / orders, 0.006);  // 4 standard errors
}

TEST(SplitNull, DrawsFromAPoolGiveTheirShare) {
    // Of six draws from {0, 1} the largest gain, 6 x 0.25, takes 0 0 0 1 1 1: one series in 64.
    SplitNull null({0, 1}, {});
    EXPECT_NEAR(null.p(6, 1.5), 1.0 / 64, 0.004);
    EXPECT_DOUBLE_EQ(null.p(6, 0), 1);
    EXPECT_NEAR(null.p(6, 100), 1.0 / 20'001, 1e-12);
    EXPECT_LE(null.p(20, 10), null.p(20, 5));
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
