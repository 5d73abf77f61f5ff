// The list of a rehearsed step, by hand on small models.
#include "worker/jobs/rehearse/rehearsal_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace osora::worker {
namespace {

using enum RehearsalKind;

constexpr plan::BucketCompute kCompute{
    .forward_s = 1, .backward_s = 2, .optimizer_s = 0.5, .source = {}};
constexpr double kFourItems = 16.0 / 1048576;  // MiB

std::vector<RehearsalKind> kinds(std::vector<RehearsalOp> const& ops) {
    std::vector<RehearsalKind> list;
    for (auto const& op : ops) list.push_back(op.kind);
    return list;
}

std::vector<ParameterSize> two_blocks() {
    return {{"x_embedder.weight", 4},
            {"spatial_blocks.0.a", 1},
            {"spatial_blocks.0.b", 3},
            {"temporal_blocks.0.a", 4},
            {"final_layer.weight", 4}};
}

TEST(RehearsalPlan, BucketsStartWhenTheirGradientsAreThere) {
    auto const plan =
        make_rehearsal_plan(two_blocks(), {.world_size = 2, .grad_bucket_mib = kFourItems});
    EXPECT_EQ(plan.bucket_items, (std::vector<std::int64_t>{4, 4, 4, 4}));
    // The last layer costs nothing, each block half of backward, the embedder nothing again.
    EXPECT_EQ(plan.full_at, (std::vector<double>{0, 0.5, 1, 1}));
    auto const ops = plan.step(kCompute, 1);
    EXPECT_EQ(kinds(ops),
              (std::vector{forward, backward, all_reduce, backward, all_reduce, backward,
                           all_reduce, backward, all_reduce, arrive, wait, optimizer}));
    EXPECT_DOUBLE_EQ(ops[0].until_s, 1);
    EXPECT_DOUBLE_EQ(ops[1].until_s, 1);
    EXPECT_DOUBLE_EQ(ops[3].until_s, 2);
    EXPECT_DOUBLE_EQ(ops[7].until_s, 3);
    EXPECT_DOUBLE_EQ(ops.back().until_s, 0.5);
    EXPECT_EQ(ops[4].bucket, 1u);
    EXPECT_EQ(ops[4].items, 4);
    EXPECT_FALSE(ops[4].blocking);
}

TEST(RehearsalPlan, AParameterInTwoBucketsFillsBoth) {
    auto const plan =
        make_rehearsal_plan(std::vector<ParameterSize>{{"blocks.0.a", 3}, {"blocks.0.b", 7}},
                            {.world_size = 4, .grad_bucket_mib = kFourItems});
    EXPECT_EQ(plan.bucket_items, (std::vector<std::int64_t>{4, 4, 2}));
    EXPECT_EQ(plan.full_at, (std::vector<double>{0.7, 1, 1}));
}

TEST(RehearsalPlan, OnlyTheLastMicroBatchReduces) {
    auto const plan = make_rehearsal_plan(std::vector<ParameterSize>{{"a", 2}},
                                          {.world_size = 2, .grad_bucket_mib = 1});
    auto const ops = plan.step(kCompute, 2);
    EXPECT_EQ(kinds(ops), (std::vector{forward, backward, forward, backward, all_reduce, arrive,
                                       wait, optimizer}));
    EXPECT_DOUBLE_EQ(ops[1].until_s, 1.5);
    EXPECT_DOUBLE_EQ(ops[2].until_s, 2);
    EXPECT_DOUBLE_EQ(ops[3].until_s, 3);
}

TEST(RehearsalPlan, TheKnownBadWayWaitsForEachParameterBetweenBarriers) {
    auto const plan =
        make_rehearsal_plan(two_blocks(), {.world_size = 2, .way = ReduceWay::per_parameter});
    EXPECT_EQ(plan.bucket_items, (std::vector<std::int64_t>{4, 4, 3, 1, 4}));
    auto const ops = plan.step(kCompute, 1);
    EXPECT_EQ(kinds(ops), (std::vector{forward, backward, arrive, barrier, all_reduce, all_reduce,
                                       all_reduce, all_reduce, all_reduce, barrier, optimizer}));
    EXPECT_TRUE(ops[4].blocking);
}

TEST(RehearsalPlan, WithoutOverlapAllStartsAfterBackward) {
    auto const plan = make_rehearsal_plan(
        two_blocks(), {.world_size = 2, .grad_bucket_mib = kFourItems, .way = ReduceWay::after});
    EXPECT_EQ(kinds(plan.step(kCompute, 1)),
              (std::vector{forward, backward, arrive, all_reduce, all_reduce, all_reduce,
                           all_reduce, wait, optimizer}));
}

TEST(RehearsalPlan, OneRankHasNoCollectives) {
    auto const plan = make_rehearsal_plan(two_blocks(), {.world_size = 1});
    EXPECT_EQ(kinds(plan.step(kCompute, 1)),
              (std::vector{forward, backward, arrive, wait, optimizer}));
}

// Whatever the sizes: nothing is lost, moments ascend, and own work adds up.
TEST(RehearsalPlan, HoldsForAnySizes) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<ParameterSize> sizes;
        std::int64_t total = 0;
        for (unsigned i = 0; i < 1 + random() % 30; ++i) {
            sizes.push_back({(random() % 4 != 0 ? "blocks." + std::to_string(i / 5) + ".w" : "w"),
                             1 + static_cast<std::int64_t>(random() % 1000)});
            total += sizes.back().items;
        }
        auto const way = std::array{ReduceWay::overlapped, ReduceWay::after,
                                    ReduceWay::per_parameter}[random() % 3];
        auto const plan = make_rehearsal_plan(
            sizes, {.world_size = 2,
                    .grad_bucket_mib = static_cast<double>(1 + random() % 5000) / 1048576,
                    .way = way});
        EXPECT_EQ(
            std::accumulate(plan.bucket_items.begin(), plan.bucket_items.end(), std::int64_t{0}),
            total);
        EXPECT_TRUE(std::ranges::is_sorted(plan.full_at));
        EXPECT_EQ(plan.full_at.back(), 1);
        double now = 0;
        for (auto const& op : plan.step(kCompute, 3)) {
            if (op.kind != forward && op.kind != backward) continue;
            EXPECT_GE(op.until_s, now - 1e-9);
            now = op.until_s;
        }
        EXPECT_NEAR(now, 3, 1e-9);
    }
}

}  // namespace
}  // namespace osora::worker
