#include "plan/tune/ab_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace osora::plan {
namespace {

using testing::HasSubstr;

struct Outcome {
    AbDecision decision;
    int pairs = 0;
};

/// Trials of a change that takes `factor` of the time, with noise between trials, judged after
/// each pair as osora tune does.
Outcome trial(double factor, double noise, std::mt19937_64& random) {
    std::normal_distribution<double> normal(0, noise);
    std::vector<AbPair> pairs;
    while (true) {
        pairs.push_back({1 + normal(random), factor * (1 + normal(random))});
        auto const decision = judge_ab(pairs);
        if (decision.verdict != AbVerdict::undecided) {
            return {decision, static_cast<int>(pairs.size())};
        }
    }
}

double share_of(AbVerdict verdict, double factor, double noise) {
    std::mt19937_64 random(3);
    int hits = 0;
    constexpr int kTrials = 2000;
    for (int each = 0; each < kTrials; ++each) {
        hits += trial(factor, noise, random).decision.verdict == verdict ? 1 : 0;
    }
    return double(hits) / kTrials;
}

TEST(AbTest, noise_is_not_taken_for_a_gain) {
    for (double const noise : {0.005, 0.02, 0.08}) {
        EXPECT_LE(share_of(AbVerdict::better, 1.0, noise), 0.025) << noise;
        EXPECT_LE(share_of(AbVerdict::worse, 1.0, noise), 0.025) << noise;
    }
}

TEST(AbTest, a_gain_well_above_the_noise_is_found) {
    EXPECT_GE(share_of(AbVerdict::better, 0.9, 0.02), 0.95);
    EXPECT_GE(share_of(AbVerdict::better, 0.95, 0.01), 0.95);
    EXPECT_EQ(share_of(AbVerdict::better, 1.1, 0.02), 0);
}

TEST(AbTest, a_gain_too_small_to_matter_is_not_kept) {
    EXPECT_LE(share_of(AbVerdict::better, 0.99, 0.001), 0.01);
}

TEST(AbTest, says_what_it_saw) {
    std::vector<AbPair> const pairs{{10, 8}, {10.1, 8}, {10, 8.1}};
    auto const decision = judge_ab(pairs);
    EXPECT_EQ(decision.verdict, AbVerdict::better);
    EXPECT_NEAR(decision.gain, 0.2, 0.01);
    EXPECT_LT(decision.low, decision.gain);
    EXPECT_GT(decision.high, decision.gain);
    EXPECT_THAT(decision.reason, HasSubstr("saves 19.9 % of the step ("));
    auto const slower = judge_ab(std::vector<AbPair>{{8, 10}, {8, 10.1}, {8.1, 10}});
    EXPECT_THAT(slower.reason, HasSubstr("costs 24.9 % of the step ("));
    EXPECT_EQ(slower.reason.find('-'), std::string::npos) << slower.reason;
    EXPECT_THAT(judge_ab(std::vector<AbPair>{{10, 8}}).reason, HasSubstr("1 of at least 3 pairs"));
}

TEST(AbTest, pairs_that_are_no_measurement_do_not_count) {
    double const nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
    std::vector<AbPair> const pairs{{10, nan}, {0, 8}, {-1, 8}, {infinite, 1}, {10, 8}, {10, 8}};
    EXPECT_EQ(judge_ab(pairs).verdict, AbVerdict::undecided);
    EXPECT_EQ(judge_ab({}).verdict, AbVerdict::undecided);
}

TEST(AbTest, ends_after_the_last_pair) {
    std::vector<AbPair> pairs;
    for (int pair = 0; pair < 6; ++pair) pairs.push_back({1, pair % 2 == 0 ? 0.7 : 1.3});
    EXPECT_EQ(judge_ab(pairs).verdict, AbVerdict::same);
}

}  // namespace
}  // namespace osora::plan
