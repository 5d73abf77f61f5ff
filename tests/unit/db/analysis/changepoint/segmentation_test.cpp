#include "db/analysis/changepoint/segmentation.hpp"

#include "db/analysis/changepoint/significance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace osora::db::analysis::changepoint {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Values = std::vector<double>;

Values noisy(std::vector<std::pair<int, double>> const& levels, double variation = 0.02) {
    std::mt19937_64 random(11);
    std::normal_distribution<double> normal;
    Values values;
    for (auto const& [count, level] : levels) {
        for (int i = 0; i < count; ++i) values.push_back(level * (1 + variation * normal(random)));
    }
    return values;
}

TEST(Segmentation, SaysLevelsPlaceAndNoise) {
    auto const values = noisy({{40, 7.3}, {40, 14.1}});
    auto const robust = robust_change_points(values);
    ASSERT_THAT(robust.points, SizeIs(1));
    auto const& point = robust.points[0];
    EXPECT_EQ(point.index, 40);
    EXPECT_EQ(point.lo, 40);
    EXPECT_EQ(point.hi, 40);
    EXPECT_NEAR(point.before, 7.3, 0.07);
    EXPECT_NEAR(point.after, 14.1, 0.14);
    EXPECT_LT(point.p, 1e-10);
    std::span<double const> const all(values);
    EXPECT_DOUBLE_EQ(point.p, 75 * mann_whitney_p(all.first(40), all.last(40))) << "of 75 places";
    EXPECT_NEAR(robust.noise, 0.02, 0.006);
    EXPECT_LT(robust.correlation, 0.3);
    EXPECT_FALSE(robust.modes);
}

TEST(Segmentation, ARunHalfWayMayBelongToEither) {
    auto const robust = robust_change_points(noisy({{30, 10}, {1, 10.25}, {30, 10.5}}, 0.005));
    ASSERT_THAT(robust.points, SizeIs(1));
    EXPECT_EQ(robust.points[0].lo, 30);
    EXPECT_EQ(robust.points[0].hi, 31);
}

TEST(Segmentation, ChangesBelowTheLeastEffectAreNone) {
    auto const values = noisy({{60, 10}, {60, 10.4}}, 0.005);
    EXPECT_THAT(robust_change_points(values).points, SizeIs(1));
    auto const larger = robust_change_points(values, {.min_effect = 0.06});
    EXPECT_THAT(larger.points, IsEmpty());
    ASSERT_THAT(larger.small, SizeIs(1)) << "it is there, and does not count";
    EXPECT_EQ(larger.small[0].index, robust_change_points(values).points[0].index);
    EXPECT_LT(larger.small[0].p, 0.001);
    EXPECT_THAT(robust_change_points(values).small, IsEmpty());
    EXPECT_THAT(robust_change_points(noisy({{60, 10}, {60, 10.2}}, 0.005)).points, IsEmpty());
}

TEST(Segmentation, OneAndTwoSlowRunsAreNoLevelAndThreeAre) {
    for (int const slow : {1, 2, 3}) {
        auto const robust = robust_change_points(noisy({{30, 10}, {slow, 15}}, 0.01));
        EXPECT_THAT(robust.points, SizeIs(slow == 3 ? 1 : 0)) << slow;
    }
}

TEST(Segmentation, SeriesThatHaveNoLogarithm) {
    Values values(20, 0);
    for (std::size_t i = 10; i < 20; ++i) values[i] = 5;
    auto const step = robust_change_points(values);
    ASSERT_THAT(step.points, SizeIs(1));
    EXPECT_EQ(step.points[0].index, 10);
    EXPECT_TRUE(std::isinf(step.points[0].effect()));
    EXPECT_THAT(robust_change_points(Values(20, 0)).points, IsEmpty());
    Values negative = noisy({{30, 10}, {30, 12}}, 0.01);
    for (double& value : negative) value = -value;
    ASSERT_THAT(robust_change_points(negative).points, SizeIs(1));
    EXPECT_EQ(robust_change_points(negative).points[0].index, 30);
}

TEST(Segmentation, ScaleDoesNotMatter) {
    auto const values = noisy({{30, 7.3}, {30, 8}, {30, 7.3}});
    for (double const scale : {1e-9, 1.0, 1e9}) {
        Values scaled;
        for (double const value : values) scaled.push_back(value * scale);
        auto const robust = robust_change_points(scaled);
        ASSERT_THAT(robust.points, SizeIs(2)) << scale;
        EXPECT_EQ(robust.points[0].index, 30);
        EXPECT_EQ(robust.points[1].index, 60);
    }
}

TEST(Segmentation, FewOrEqualValues) {
    EXPECT_THAT(robust_change_points({}).points, IsEmpty());
    EXPECT_THAT(robust_change_points(Values{1, 1, 9, 9, 9}).points, IsEmpty());
    auto const six = robust_change_points(Values{1, 1, 1, 9, 9, 9});
    ASSERT_THAT(six.points, SizeIs(1));
    EXPECT_EQ(six.points[0].index, 3);
    EXPECT_LT(six.points[0].p, 0.05);  // too few for ranks: from the noise
    EXPECT_THAT(robust_change_points(Values(50, 0.1)).points, IsEmpty());
}

TEST(Segmentation, TwoSpeedsAreSaid) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    Values values;
    for (int i = 0; i < 60; ++i) {
        values.push_back((random() % 2 == 0 ? 530 : 20'702) * (1 + 0.002 * normal(random)));
    }
    auto const robust = robust_change_points(values);
    ASSERT_TRUE(robust.modes);
    EXPECT_NEAR(robust.modes->low, 530, 3);
    EXPECT_NEAR(robust.modes->high, 20'702, 100);
    EXPECT_NEAR(robust.modes->high_share, 0.5, 0.2);
    EXPECT_THAT(robust.points, IsEmpty());
    EXPECT_FALSE(robust_change_points(noisy({{20, 7}, {20, 14}, {20, 7}, {20, 14}})).modes);
}

TEST(Segmentation, ExtremeValuesAreNoTrouble) {
    Values values = noisy({{30, 1e-300}, {30, 1e300}}, 0.01);
    ASSERT_THAT(robust_change_points(values).points, SizeIs(1));
    EXPECT_EQ(robust_change_points(values).points[0].index, 30);
    Values mixed(30, 0);
    mixed.insert(mixed.end(), 30, 1e12);
    mixed[3] = 1e-12;
    ASSERT_THAT(robust_change_points(mixed).points, SizeIs(1));
}

}  // namespace
}  // namespace osora::db::analysis::changepoint
