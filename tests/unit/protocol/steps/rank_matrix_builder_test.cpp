#include "protocol/steps/rank_matrix_builder.hpp"

#include "protocol/steps/matrix_codec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::protocol {
namespace {

constexpr int kBlock = RankMatrixBuilder::kBlockSteps;

StepMetrics arrival_step(int number, double arrival_s) {
    StepMetrics metrics;
    metrics.step = number;
    metrics.arrival_s = arrival_s;
    return metrics;
}

std::vector<float> values(RankMatrix const& matrix, std::string const& figure) {
    auto decoded =
        decode_matrix(matrix.figures.at(figure).value, static_cast<std::size_t>(matrix.steps),
                      static_cast<std::size_t>(matrix.ranks));
    return decoded.has_value() ? *decoded : std::vector<float>{};
}

TEST(RankMatrixBuilder, ABlockGoesWhenAllRanksHaveReportedIt) {
    RankMatrixBuilder builder(2, 1, 4, 2);
    for (int i = 0; i < kBlock; ++i) {
        builder.add(4, arrival_step(i, 1));
        EXPECT_FALSE(builder.take().has_value());
        builder.add(5, arrival_step(i, 2 + i));
    }
    auto const matrix = builder.take();
    ASSERT_TRUE(matrix.has_value());
    EXPECT_EQ(matrix->attempt, 2);
    EXPECT_EQ(matrix->node, 1);
    EXPECT_EQ(matrix->first_rank, 4);
    EXPECT_EQ(matrix->ranks, 2);
    EXPECT_EQ(matrix->step0, 0);
    EXPECT_EQ(matrix->steps, kBlock);
    EXPECT_EQ(matrix->figures.size(), 8u) << "the members of StepMetrics that end with _s";
    auto const arrivals = values(*matrix, "arrival_s");
    for (int i = 0; i < kBlock; ++i) {
        auto const row = 2 * static_cast<std::size_t>(i);
        EXPECT_NEAR(arrivals[row], 1, 0.002);
        EXPECT_NEAR(arrivals[row + 1], 2 + i, 0.002 * (2 + i));
    }
    EXPECT_FALSE(builder.take(true).has_value());
}

TEST(RankMatrixBuilder, ARankThatStaysSilentHoldsNothingUp) {
    RankMatrixBuilder builder(0, 0, 0, 2);
    for (int i = 0; i < 2 * kBlock; ++i) builder.add(0, arrival_step(i, 1));
    EXPECT_FALSE(builder.take().has_value());
    builder.add(0, arrival_step(2 * kBlock, 1));
    auto const matrix = builder.take();
    ASSERT_TRUE(matrix.has_value());
    EXPECT_TRUE(std::isnan(values(*matrix, "arrival_s")[1]));
    EXPECT_FALSE(builder.take().has_value());
}

TEST(RankMatrixBuilder, TheEndOfAnAttemptTakesWhatIsThere) {
    RankMatrixBuilder builder(0, 0, 0, 1);
    for (int i = 70; i < 75; ++i) builder.add(0, arrival_step(i, i));
    EXPECT_FALSE(builder.take().has_value());
    auto const matrix = builder.take(true);
    ASSERT_TRUE(matrix.has_value());
    EXPECT_EQ(matrix->step0, 70);
    EXPECT_EQ(matrix->steps, 5);
    EXPECT_NEAR(values(*matrix, "arrival_s")[4], 74, 0.1);
}

TEST(RankMatrixBuilder, StrangersRepeatsAndLateStepsAreIgnored) {
    RankMatrixBuilder builder(0, 0, 4, 1);
    for (int const rank : {3, 5, -1}) builder.add(rank, arrival_step(0, 1));
    builder.add(4, arrival_step(-1, 1));
    EXPECT_FALSE(builder.take(true).has_value());
    builder.add(4, arrival_step(3, 1));
    builder.add(4, arrival_step(3, 9));
    EXPECT_NEAR(values(*builder.take(true), "arrival_s")[0], 1, 0.002);
    builder.add(4, arrival_step(4, 1));
    EXPECT_FALSE(builder.take(true).has_value()) << "its block was taken";
}

TEST(RankMatrixBuilder, WhatNobodyTakesIsBounded) {
    RankMatrixBuilder builder(0, 0, 0, 1);
    int const blocks = static_cast<int>(RankMatrixBuilder::kBlocksMax) + 2;
    for (int i = 0; i < blocks * kBlock; ++i) builder.add(0, arrival_step(i, 1));
    EXPECT_EQ(builder.take_dropped(), 2u * kBlock);
    EXPECT_EQ(builder.take_dropped(), 0u);
    EXPECT_EQ(builder.take()->step0, 2 * kBlock);
}

}  // namespace
}  // namespace osora::protocol
