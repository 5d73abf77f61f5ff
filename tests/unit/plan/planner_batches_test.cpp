// What a plan says about other batches, and about how evenly its ranks work.
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// 4 nodes of one rank over links of 0.1 Gbit/s.
PlanRequest slow_links() {
    auto r = request(1);
    r.config.resources.nodes = 4;
    r.config.resources.backend = "slurm";
    r.config.resources.cpus_per_worker = 1;
    r.config.parallel.grad_bucket_mib = 25;
    r.config.batch.min = 16;
    r.config.batch.max = 512;
    MeasuredNetwork network{.result = {}, .source = "4 nodes, now"};
    network.result.pairs.resize(1);
    for (int node = 0; node < 4; ++node) {
        network.result.nodes.push_back("n" + std::to_string(node));
        network.result.scores.push_back(
            {.gbit_s = 0.1, .of_median = 1, .samples = 5, .interface = {}});
    }
    r.network = network;
    return r;
}

double without_loader(Prediction const& p) {
    return p.step_time_s - p.loader_s;
}

TEST(PlannerBatches, LargerOnesHideMoreOfTheirCommunication) {
    auto r = slow_links();
    r.config.bucket.resize(1);  // batches of others are rounded
    r.config.batch.global_batch_size = 64;
    auto const plan = plan_of(r);
    ASSERT_THAT(plan.batch_curve, SizeIs(6));  // 16 to 512
    for (std::size_t i = 0; i < plan.batch_curve.size(); ++i) {
        EXPECT_EQ(plan.batch_curve[i].global_batch_size, 16 << i);
        if (i == 0) continue;
        EXPECT_LT(plan.batch_curve[i].exposed_comm_share,
                  plan.batch_curve[i - 1].exposed_comm_share);
        EXPECT_GT(plan.batch_curve[i].samples_per_s, plan.batch_curve[i - 1].samples_per_s);
    }
    EXPECT_NEAR(plan.batch_curve[2].exposed_comm_share,
                plan.predicted.exposed_comm_s / without_loader(plan.predicted), 1e-9);
}

TEST(PlannerBatches, EachIsWhatAPlanWithThatBatchExpects) {
    auto r = slow_links();
    r.config.batch.global_batch_size = 64;
    for (ExpectedBatch const& point : plan_of(r).batch_curve) {
        r.config.batch.global_batch_size = static_cast<int>(point.global_batch_size);
        auto const expected = plan_of(r).predicted;
        EXPECT_NEAR(point.step_time_s, without_loader(expected), 1e-9) << point.global_batch_size;
        EXPECT_NEAR(point.samples_per_s * point.step_time_s,
                    expected.samples_per_s * expected.step_time_s, 1e-6);
    }
}

TEST(PlannerBatches, OfAnOddBatchOnlyLargerOnesCanBeDivided) {
    auto r = slow_links();
    r.config.batch.global_batch_size = 20;  // 5 samples a rank
    std::vector<std::int64_t> sizes;
    for (auto const& point : plan_of(r).batch_curve) sizes.push_back(point.global_batch_size);
    EXPECT_EQ(sizes, (std::vector<std::int64_t>{20, 40, 80, 160, 320}));
}

TEST(PlannerBatches, RanksThatTrainOneBucketTakeEquallyLong) {
    auto const plan = plan_of(slow_links());
    EXPECT_EQ(plan.predicted.rank_balance, 1);
    EXPECT_EQ(plan.predicted.rank_wait_s, 0);
    EXPECT_THAT(plan.reasons, Contains(HasSubstr("4 dp ranks train one bucket in a step")));
}

// With the share p of the longer bucket, none of 4 ranks draws it in (1 - p)^4 of the steps.
TEST(PlannerBatches, RanksThatDrawTheirOwnBucketsWaitForTheSlowest) {
    auto r = slow_links();
    r.config.batch.min = 4;
    r.config.batch.global_batch_size = 4;
    r.config.bucket = {{"32", 1, 1.0, {}}, {"64", 16, 0.5, {}}};
    auto const equal = plan_of(r);
    r.config.debug.bucket_schedule = "original";
    auto const drawn = plan_of(r).predicted;
    auto const work = [&](int bucket) {
        BucketPlan const& of = equal.chosen.buckets[static_cast<std::size_t>(bucket)];
        return of.compute_s + of.optimizer_s;
    };
    ASSERT_GT(work(1), 4 * work(0));
    double const p = (equal.predicted.compute_s - work(0)) / (work(1) - work(0));
    double const longest = work(1) - (work(1) - work(0)) * std::pow(1 - p, 4);
    EXPECT_NEAR(drawn.rank_wait_s, longest - equal.predicted.compute_s, 0.02 * longest);
    EXPECT_NEAR(drawn.rank_balance, longest / equal.predicted.compute_s, 0.03);
    EXPECT_NEAR(drawn.step_time_s, equal.predicted.step_time_s + drawn.rank_wait_s, 1e-9);
    EXPECT_THAT(plan_of(r).reasons, Contains(HasSubstr("waits for the slowest")));
}

}  // namespace
}  // namespace osora::plan
