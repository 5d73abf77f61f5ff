#include "topology/probe/end_scores.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace osora::topology {
namespace {

TEST(EndScores, of_nothing_are_empty) {
    auto const scores = score_ends(3, {});
    ASSERT_EQ(scores.ends.size(), 3u);
    EXPECT_EQ(scores.median, 0);
    EXPECT_FALSE(scores.ends[0].bad);
    EXPECT_EQ(scores.ends[0].samples, 0);
}

TEST(EndScores, one_pair_accuses_nobody) {
    auto const scores = score_ends(2, {{0, 1, 5.0}});
    EXPECT_FALSE(scores.ends[0].bad || scores.ends[1].bad);
    EXPECT_EQ(scores.median, 5.0);
}

TEST(EndScores, a_good_end_is_not_judged_by_its_bad_partners) {
    // 0 and 1 are bad; 2 met both of them and one good end.
    auto const scores = score_ends(6, {{0, 2, 30.0},
                                       {1, 2, 31.0},
                                       {2, 3, 100.0},
                                       {0, 3, 30.0},
                                       {1, 4, 31.0},
                                       {3, 4, 101.0},
                                       {4, 5, 99.0},
                                       {2, 5, 100.0},
                                       {0, 4, 30.0},
                                       {1, 5, 30.5},
                                       {3, 5, 100.0}});
    EXPECT_TRUE(scores.ends[0].bad && scores.ends[1].bad);
    for (std::size_t end = 2; end < 6; ++end) EXPECT_FALSE(scores.ends[end].bad) << end;
    EXPECT_NEAR(scores.ends[0].of_median, 0.3, 0.01);
    EXPECT_NEAR(scores.ends[2].of_median, 1.0, 0.01);
    EXPECT_EQ(scores.ends[2].partners_clean, 2);
}

TEST(EndScores, values_that_are_none_are_left_out_and_zero_is_a_dead_pair) {
    double const nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
    auto const scores = score_ends(
        4,
        {{0, 1, nan}, {0, 2, infinite}, {1, 2, -3}, {3, 3, 7}, {1, 2, 10}, {1, 0, 0}, {2, 0, 0}});
    EXPECT_EQ(scores.median, 10);
    EXPECT_TRUE(scores.ends[0].bad);
    EXPECT_EQ(scores.ends[0].samples, 2);
    EXPECT_EQ(scores.ends[3].samples, 0);
}

TEST(EndScores, with_much_noise_a_small_drop_is_not_called_bad) {
    std::vector<PairValue> values;
    for (int a = 0; a < 8; ++a) {
        for (int b = a + 1; b < 8; ++b) {
            double const noise = ((a * 7 + b * 13) % 11 - 5) * 4.0;  // +- 20
            values.push_back({a, b, (a == 0 ? 88.0 : 100.0) + noise});
        }
    }
    EXPECT_FALSE(score_ends(8, values).ends[0].bad);
}

TEST(EndScores, WhoReachesFullSpeedTwiceWasHeldUpAndIsNotSlow) {
    std::vector<PairValue> values;
    for (int a = 1; a < 8; ++a) {
        for (int b = a + 1; b < 8; ++b) values.push_back({a, b, 100.0 + (a + b) % 3});
    }
    auto with = [&](std::vector<double> of_first) {
        auto all = values;
        for (int other = 1; double const value : of_first) all.push_back({0, other++, value});
        return score_ends(8, all).ends[0];
    };
    EXPECT_FALSE(with({57, 98, 60, 99}).bad);
    EXPECT_NEAR(with({57, 98, 60, 99}).of_median, 0.78, 0.01);
    EXPECT_TRUE(with({57, 98, 60, 61}).bad);
    EXPECT_TRUE(with({78, 80, 77, 79}).bad);
}

TEST(EndScores, OneTransferAloneAccusesOnlyWhatIsFarOff) {
    auto const near =
        score_ends(4, {{.a = 0, .b = 1, .value = 100}, {.a = 2, .b = 3, .value = 85}});
    for (auto const& each : near.ends) EXPECT_FALSE(each.bad);
    auto const far = score_ends(4, {{.a = 0, .b = 1, .value = 100}, {.a = 2, .b = 3, .value = 30}});
    EXPECT_TRUE(far.ends[2].bad);
    EXPECT_FALSE(far.ends[0].bad);
}

}  // namespace
}  // namespace osora::topology
