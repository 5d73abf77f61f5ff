// Sums of collectives against sums computed here, taken at any time.
#include "protocol/steps/collective_reducer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace osora::protocol {
namespace {

CollectiveCost cost(std::string name, double seconds = 0.5, std::int64_t calls = 3) {
    return {.name = std::move(name),
            .collective = "all_reduce",
            .backend = "gloo",
            .ranks = 4,
            .calls = calls,
            .bytes = 100 * calls,
            .seconds = seconds,
            .exposed_s = seconds / 2};
}

StepMetrics step(int number, std::vector<CollectiveCost> collectives,
                 std::string bucket = "8x8x1") {
    StepMetrics metrics;
    metrics.step = number;
    metrics.bucket = std::move(bucket);
    metrics.collectives = std::move(collectives);
    return metrics;
}

TEST(CollectiveReducer, SumsByClassAndBucketAndNumbersItsReports) {
    CollectiveReducer reducer(2, 1, 4, 2);
    EXPECT_FALSE(reducer.take().has_value());
    for (int rank : {4, 5}) {
        reducer.add(rank, step(10, {cost("gradients all_reduce"), cost("stop vote", 0.25, 1)}));
        reducer.add(rank, step(11, {cost("gradients all_reduce", 1.5)}, "8x8x9"));
    }
    auto const reported = reducer.take();
    ASSERT_TRUE(reported.has_value());
    EXPECT_EQ(reported->attempt, 2);
    EXPECT_EQ(reported->node, 1);
    EXPECT_EQ(reported->number, 0);
    ASSERT_EQ(reported->sums.size(), 3u);
    auto const& [bucket, warmup, rank_steps, sum] = reported->sums[1];
    EXPECT_EQ(bucket, "8x8x9");
    EXPECT_TRUE(warmup);
    EXPECT_EQ(rank_steps, 2);
    EXPECT_EQ(sum.name, "gradients all_reduce");
    EXPECT_EQ(sum.ranks, 4);
    EXPECT_EQ(sum.calls, 6);
    EXPECT_EQ(sum.bytes, 600);
    EXPECT_EQ(sum.seconds, 3.0);
    EXPECT_EQ(sum.exposed_s, 1.5);
    EXPECT_FALSE(reducer.take().has_value());
    reducer.add(4, step(12, {cost("stop vote")}));
    EXPECT_EQ(reducer.take()->number, 1);
}

TEST(CollectiveReducer, FirstStepsOfEachRankAreSummedSeparately) {
    CollectiveReducer reducer(0, 0, 0, 2);
    for (int i = 0; i < 8; ++i) reducer.add(0, step(100 + i, {cost("stop vote")}));
    for (int i = 0; i < 6; ++i) reducer.add(1, step(100 + i, {cost("stop vote")}));
    auto const reported = reducer.take();
    ASSERT_EQ(reported->sums.size(), 2u);
    EXPECT_FALSE(reported->sums[0].warmup);
    EXPECT_EQ(reported->sums[0].rank_steps, 3 + 1);
    EXPECT_TRUE(reported->sums[1].warmup);
    EXPECT_EQ(reported->sums[1].rank_steps, 2 * CollectiveReducer::kWarmupSteps);
}

TEST(CollectiveReducer, StrangersRepeatsAndNonsenseAreIgnored) {
    CollectiveReducer reducer(0, 0, 4, 1);
    reducer.add(3, step(0, {cost("a")}));
    reducer.add(5, step(0, {cost("a")}));
    EXPECT_FALSE(reducer.take().has_value());
    reducer.add(4, step(7, {cost("a")}));
    reducer.add(4, step(7, {cost("a")}));
    reducer.add(4, step(6, {cost("a")}));
    EXPECT_EQ(reducer.take()->sums.at(0).rank_steps, 1);
    auto of_nobody = cost("a");
    of_nobody.ranks = 0;
    reducer.add(4, step(8, {cost(""), cost("a", std::nan("")), cost("a", -1), cost("a", INFINITY),
                            cost("a", 1, -1), cost(std::string(101, 'x')), of_nobody}));
    EXPECT_FALSE(reducer.take().has_value());
    for (int i = 0; i < 2 * static_cast<int>(CollectiveReducer::kSumsMax); ++i) {
        reducer.add(4, step(9 + i, {cost("class " + std::to_string(i))}));
    }
    auto const reported = reducer.take();
    EXPECT_EQ(reported->sums.size(), CollectiveReducer::kSumsMax);
    EXPECT_TRUE(is_sane(*reported));
}

TEST(CollectiveReducer, NothingIsLostOrCountedTwiceWhereverItIsCut) {
    std::mt19937 random(7);
    CollectiveReducer reducer(0, 0, 0, 3);
    std::map<std::string, CollectiveSum> expected, reported;
    auto const take = [&] {
        auto const sums = reducer.take();
        if (!sums) return;
        for (auto const& each : sums->sums) {
            auto& sum = reported[each.cost.name + each.bucket];
            sum.rank_steps += each.rank_steps;
            sum.cost.calls += each.cost.calls;
            sum.cost.seconds += each.cost.seconds;
        }
    };
    for (int number = 0; number < 200; ++number) {
        for (int rank = 0; rank < 3; ++rank) {
            auto const one = cost(random() % 2 == 0 ? "a" : "b",
                                  static_cast<double>(random() % 1000) / 1024, number % 7);
            std::string const bucket = number % 3 == 0 ? "8x8x1" : "8x8x9";
            reducer.add(rank, step(number, {one}, bucket));
            auto& sum = expected[one.name + bucket];
            ++sum.rank_steps;
            sum.cost.calls += one.calls;
            sum.cost.seconds += one.seconds;
            if (random() % 10 == 0) take();
        }
    }
    take();
    ASSERT_EQ(reported.size(), expected.size());
    for (auto const& [key, sum] : expected) {
        EXPECT_EQ(reported[key].rank_steps, sum.rank_steps) << key;
        EXPECT_EQ(reported[key].cost.calls, sum.cost.calls) << key;
        EXPECT_EQ(reported[key].cost.seconds, sum.cost.seconds) << key;  // of 1/1024 s: exact
    }
}

}  // namespace
}  // namespace osora::protocol
