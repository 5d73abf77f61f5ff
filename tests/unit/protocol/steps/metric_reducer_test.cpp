#include "protocol/steps/metric_reducer.hpp"

#include "protocol/steps/bucket_label.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace osora::protocol {
namespace {

StepMetrics metric_step(int number, double loss, double time = 1, int samples = 4) {
    StepMetrics metrics;
    metrics.step = number;
    metrics.bucket = "8x8x1";
    metrics.loss = loss;
    metrics.step_time_s = time;
    metrics.samples = samples;
    metrics.rss_bytes = 1000 * (number + 1);
    return metrics;
}

TEST(MetricReducer, AStepIsCompleteWhenEveryRankHasReportedIt) {
    MetricReducer reducer(2, 1, 4, 2);
    reducer.add(4, metric_step(10, 0.5, 1.0));
    EXPECT_FALSE(reducer.take().has_value());
    reducer.add(5, metric_step(10, 1.5, 3.0));
    reducer.add(4, metric_step(11, 0.25));
    auto const chunk = reducer.take();
    ASSERT_TRUE(chunk.has_value());
    EXPECT_EQ(chunk->attempt, 2);
    EXPECT_EQ(chunk->node, 1);
    EXPECT_EQ(chunk->ranks, 2);
    EXPECT_EQ(chunk->step0, 10);
    EXPECT_EQ(chunk->bucket, std::vector<std::string>{"8x8x1"});
    EXPECT_EQ(chunk->samples, std::vector{8});
    MetricColumn const& loss = chunk->columns.at("loss");
    EXPECT_EQ(loss.mean, std::vector{1.0});
    EXPECT_EQ(loss.min, std::vector{0.5});
    EXPECT_EQ(loss.max, std::vector{1.5});
    EXPECT_EQ(loss.argmax, std::vector{5});
    EXPECT_EQ(chunk->columns.at("rss_bytes").max, std::vector{11000.0});
    EXPECT_EQ(chunk->columns.size(), 17u);
    EXPECT_FALSE(reducer.take().has_value());
    EXPECT_TRUE(reducer.take(true).has_value()) << "the part of step 11 at the end";
}

TEST(MetricReducer, RanksWithDifferentBucketsReportInAnyOrder) {
    for (bool const reversed : {false, true}) {
        MetricReducer reducer(0, 0, 0, 3);
        for (int i = 0; i < 3; ++i) {
            int const rank = reversed ? 2 - i : i;
            auto metrics = metric_step(0, 1);
            metrics.bucket = rank == 1 ? "8x8x9" : "8x8x1";
            reducer.add(rank, metrics);
        }
        EXPECT_EQ(reducer.take()->bucket, std::vector<std::string>{"8x8x1+8x8x9"});
    }
    std::string label;
    merge_bucket(label, "8x8x1");
    merge_bucket(label, "");
    EXPECT_EQ(label, "8x8x1");
    EXPECT_FALSE(is_mixed_bucket(label));
    for (int i = 0; i < 40; ++i) merge_bucket(label, std::to_string(i) + "+8x8x1");
    EXPECT_EQ(std::ranges::count(label, '+'), 15);
    EXPECT_TRUE(is_mixed_bucket(label));
}

TEST(MetricReducer, StrangersRepeatsAndLateStepsAreIgnored) {
    MetricReducer reducer(0, 0, 0, 1);
    reducer.add(1, metric_step(0, 1));
    reducer.add(-1, metric_step(0, 1));
    EXPECT_FALSE(reducer.take().has_value());
    reducer.add(0, metric_step(3, 1));
    reducer.add(0, metric_step(3, 9));
    EXPECT_EQ(reducer.take()->columns.at("loss").max, std::vector{1.0});
    reducer.add(0, metric_step(3, 1));
    EXPECT_FALSE(reducer.take().has_value());
}

TEST(MetricReducer, NotANumberIsTheMaximumAndNamesItsRank) {
    MetricReducer reducer(0, 0, 0, 3);
    reducer.add(0, metric_step(0, 1));
    reducer.add(1, metric_step(0, std::nan("")));
    reducer.add(2, metric_step(0, 7));
    auto const chunk = reducer.take();
    MetricColumn const& loss = chunk->columns.at("loss");
    EXPECT_TRUE(std::isnan(loss.max[0]));
    EXPECT_TRUE(std::isnan(loss.mean[0]));
    EXPECT_EQ(loss.argmax[0], 1);
    EXPECT_EQ(loss.min[0], 1);
}

TEST(MetricReducer, ChunksHoldConsecutiveStepsAndAreBounded) {
    MetricReducer reducer(0, 0, 0, 1);
    for (int i = 0; i < 200; ++i) reducer.add(0, metric_step(i, 1));
    for (int i = 300; i < 310; ++i) reducer.add(0, metric_step(i, 1));
    EXPECT_EQ(reducer.take()->bucket.size(), 128u);
    EXPECT_EQ(reducer.take()->bucket.size(), 72u);
    EXPECT_EQ(reducer.take()->step0, 300);
    EXPECT_FALSE(reducer.take().has_value());
}

TEST(MetricReducer, KeepsTheNewestWhenNobodyTakesThem) {
    MetricReducer reducer(0, 0, 0, 1);
    int const count = static_cast<int>(MetricReducer::kRowsMax) + 100;
    for (int i = 0; i < count; ++i) reducer.add(0, metric_step(i, 1));
    EXPECT_EQ(reducer.take()->step0, 100);
    EXPECT_EQ(reducer.take_dropped(), 100u);
    EXPECT_EQ(reducer.take_dropped(), 0u);
}

TEST(MetricReducer, WaitsOnlyForRanksThatReport) {
    MetricReducer reducer(0, 0, 4, 3, MetricReducer::Wait::speakers);
    EXPECT_FALSE(reducer.take().has_value());
    reducer.add(4, metric_step(0, 1));
    reducer.add(4, metric_step(10, 1));
    auto const alone = reducer.take();
    ASSERT_TRUE(alone.has_value());
    EXPECT_EQ(alone->step0, 0);
    EXPECT_EQ(alone->ranks, 1);
    EXPECT_EQ(reducer.take()->step0, 10);
    reducer.add(4, metric_step(20, 1));
    reducer.add(4, metric_step(21, 1));
    reducer.add(6, metric_step(20, 1));
    auto const both = reducer.take();
    ASSERT_TRUE(both.has_value());
    EXPECT_EQ(both->ranks, 2);
    EXPECT_EQ(both->bucket.size(), 1u);  // 21 waits for rank 6
    EXPECT_FALSE(reducer.take().has_value());
    EXPECT_EQ(reducer.take(true)->step0, 21);
}

// Against sums computed here, ranks in any order, taken at any time.
TEST(MetricReducer, AgreesWithASecondWayOfCounting) {
    std::mt19937 random(7);
    int const ranks = 5, steps = 60;
    std::vector<std::vector<double>> times(steps, std::vector<double>(ranks));
    std::vector<int> next(ranks, 0);
    MetricReducer reducer(0, 0, 10, ranks);
    int seen = 0;
    auto check = [&](MetricChunk const& chunk) {
        for (std::size_t i = 0; i < chunk.bucket.size(); ++i, ++seen) {
            ASSERT_EQ(chunk.step0 + static_cast<int>(i), seen);
            auto const& row = times[static_cast<std::size_t>(seen)];
            double sum = 0;
            for (double each : row) sum += each;
            auto const worst = std::max_element(row.begin(), row.end());
            MetricColumn const& column = chunk.columns.at("step_time_s");
            EXPECT_NEAR(column.mean[i], sum / ranks, 1e-12);
            EXPECT_EQ(column.max[i], *worst);
            EXPECT_EQ(column.argmax[i], 10 + static_cast<int>(worst - row.begin()));
            EXPECT_EQ(column.min[i], *std::min_element(row.begin(), row.end()));
        }
    };
    while (seen < steps) {
        auto const rank = random() % ranks;
        if (next[rank] < steps) {
            auto const at = static_cast<std::size_t>(next[rank]++);
            times[at][rank] = static_cast<double>(random()) / 1e9;
            reducer.add(10 + static_cast<int>(rank),
                        metric_step(static_cast<int>(at), 0, times[at][rank]));
        }
        if (random() % 4 == 0) {
            if (auto const chunk = reducer.take()) check(*chunk);
        }
    }
}

TEST(MetricReducer, KeepsTheNewestPiecesOfStepsWithGaps) {
    MetricReducer reducer(0, 0, 0, 1, MetricReducer::Wait::speakers);
    for (int i = 0; i < 100; ++i) reducer.add(0, metric_step(10 * i, 1));
    for (int i = 0; i < 50; ++i) reducer.add(0, metric_step(2000 + i, 1));  // one piece
    reducer.keep_newest(3);
    EXPECT_EQ(reducer.take_dropped(), 98u);
    EXPECT_EQ(reducer.take(true)->step0, 980);
    EXPECT_EQ(reducer.take(true)->step0, 990);
    EXPECT_EQ(reducer.take(true)->bucket.size(), 50u);
    EXPECT_FALSE(reducer.take(true).has_value());
    reducer.keep_newest(3);
    EXPECT_EQ(reducer.take_dropped(), 0u);
}

TEST(MetricReducer, ARankThatLagsFarIsNotAwaitedOnceItsStepsAreDropped) {
    MetricReducer reducer(0, 0, 0, 2, MetricReducer::Wait::speakers);
    reducer.add(1, metric_step(0, 1));
    for (int i = 0; i < 100; ++i) reducer.add(0, metric_step(10 * i, 1));
    EXPECT_EQ(reducer.take()->step0, 0);
    EXPECT_FALSE(reducer.take().has_value()) << "rank 1 has not reported step 10";
    reducer.keep_newest(3);
    EXPECT_EQ(reducer.take()->step0, 970);
    reducer.add(1, metric_step(985, 1));
    reducer.add(1, metric_step(20, 1));
    EXPECT_EQ(reducer.take()->step0, 980);
}

TEST(MetricReducer, SumsOfSamplesStayNumbers) {
    MetricReducer reducer(0, 0, 0, 2);
    for (int rank : {0, 1}) reducer.add(rank, metric_step(0, 1, 1, 2'000'000'000));
    EXPECT_EQ(reducer.take()->samples.at(0), 2'147'483'647);
}

}  // namespace
}  // namespace osora::protocol
