// Against imbalance that others published, for draws of one bucket per rank and step.
#include "plan/layout/rank_balance.hpp"

#include "plan/buckets/cost.hpp"
#include "plan/buckets/shapes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace osora::plan {
namespace {

// Of two ranks one draws the long bucket in three steps of four: 3/4 x 3 s + 1/4 x 1 s.
TEST(RankBalance, IsTheMeanOfTheLongestDraw) {
    auto const balance = balance_of_draws(std::array{0.5, 0.5}, std::array{3.0, 1.0}, 2);
    EXPECT_DOUBLE_EQ(balance.mean_s, 2);
    EXPECT_DOUBLE_EQ(balance.longest_s, 2.5);
    EXPECT_DOUBLE_EQ(balance.ratio(), 1.25);
}

TEST(RankBalance, OneRankOrOneBucketWaitsForNobody) {
    auto const one = balance_of_draws(std::array{0.3, 0.6, 0.1}, std::array{1.1, 0.7, 9.3}, 1);
    EXPECT_EQ(one.longest_s, one.mean_s);
    EXPECT_DOUBLE_EQ(balance_of_draws(std::array{1.0}, std::array{4.0}, 1024).ratio(), 1);
    EXPECT_DOUBLE_EQ(balance_of_draws(std::array{0.5, 0.5}, std::array{0.0, 0.0}, 8).ratio(), 1);
}

struct Bucket25 {
    int height = 0, width = 0;
    std::array<int, 5> samples{};  // of a rank: 1, 51, 102, 204, 408 frames
};
// github.com/NUS-HPC-AI-Lab/VideoSys, examples/training/open_sora/configs/benchmarks/baseline.yaml
constexpr std::array<Bucket25, 5> kVideoSys{{{144, 256, {345, 48, 25, 12, 6}},
                                             {240, 426, {128, 16, 8, 4, 2}},
                                             {360, 640, {64, 7, 4, 2, 1}},
                                             {480, 854, {32, 4, 2, 1, 1}},
                                             {720, 1280, {14, 1, 1, 1, 1}}}};
constexpr std::array kFrames{1, 51, 102, 204, 408};

/// Mean over longest work of `ranks` ranks that draw among the 25 buckets with equal chances.
double mean_over_longest(int ranks) {
    std::vector<double> times;
    for (Bucket25 const& row : kVideoSys) {
        for (std::size_t i = 0; i < kFrames.size(); ++i) {
            BucketKey const key{.height = row.height, .width = row.width, .num_frames = kFrames[i]};
            times.push_back(row.samples[i] * forward_flops(DitSizes{}, key));
        }
    }
    std::vector<double> const shares(times.size(), 1.0 / static_cast<double>(times.size()));
    return 1 / balance_of_draws(shares, times, ranks).ratio();
}

// Simulated draws give 0.45, 0.24 and 0.24 for 8, 64 and 128 ranks with this table.
TEST(RankBalance, OfTheTableWith25BucketsOnlyAQuarterIsWork) {
    EXPECT_NEAR(mean_over_longest(8), 0.45, 0.02);
    EXPECT_NEAR(mean_over_longest(64), 0.24, 0.01);
    EXPECT_NEAR(mean_over_longest(128), 0.24, 0.01);
}

}  // namespace
}  // namespace osora::plan
