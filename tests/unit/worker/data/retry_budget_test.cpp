// How long clips that cannot be read are waited for.
#include "worker/data/retry_budget.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace osora::worker {
namespace {

/// Pauses of a shard whose clips are never read; `try_s` is spent on each try.
std::vector<double> pauses_of_shard(RetryBudget& budget, double try_s) {
    std::vector<double> pauses;
    while (auto const pause_s = budget.pause_s(static_cast<int>(pauses.size()))) {
        pauses.push_back(*pause_s);
        budget.spend(*pause_s + try_s);
    }
    return pauses;
}

TEST(RetryBudget, PausesGrowAndAreBoundedForAllShardsTogether) {
    RetryBudget budget(60);
    std::vector<double> const expected{0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 10, 10, 7.3};
    auto const first = pauses_of_shard(budget, 0);
    ASSERT_GE(first.size(), expected.size());
    double sum = 0;
    for (double const pause_s : first) sum += pause_s;
    EXPECT_NEAR(sum, 60, 1e-9);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(first[i], expected[i], 1e-9);
    // Clips of other shards are tried once more all the same.
    EXPECT_EQ(pauses_of_shard(budget, 0), std::vector<double>{0.0});
}

/// A clip that takes 30 s to fail must not be tried ten times.
TEST(RetryBudget, SlowTriesCount) {
    RetryBudget budget(60);
    EXPECT_EQ(pauses_of_shard(budget, 30).size(), 2u);
}

TEST(RetryBudget, AShortOutageLeavesTimeForTheNext) {
    RetryBudget budget(60);
    budget.spend(59);
    EXPECT_DOUBLE_EQ(*budget.pause_s(0), 0.1);
    EXPECT_DOUBLE_EQ(*budget.pause_s(9), 1);
}

}  // namespace
}  // namespace osora::worker
