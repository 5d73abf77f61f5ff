// What a plan takes for the time of communication between nodes.
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

PlanRequest on_nodes(int nodes) {
    auto r = request(1);
    r.config.resources.nodes = nodes;
    r.config.resources.backend = "slurm";
    return r;
}

topology::ProbeResult links_of(int nodes, double gbit_s) {
    topology::ProbeResult probe;
    probe.pairs.resize(1);
    probe.pairs[0].latency_us = 100;
    for (int node = 0; node < nodes; ++node) {
        probe.nodes.push_back("n" + std::to_string(node));
        probe.scores.push_back({.gbit_s = gbit_s, .of_median = 1, .samples = 5, .interface = {}});
    }
    return probe;
}

TEST(Planner, SaysThatANetworkIsNotMeasured) {
    auto const plan = plan_of(on_nodes(4));
    EXPECT_THAT(plan.reasons, Contains(HasSubstr("osora probe --collectives")));
    EXPECT_DOUBLE_EQ(plan.predicted.step_time_error, 0.6);
    for (auto const& reason : plan_of(request(4)).reasons) {
        EXPECT_THAT(reason, testing::Not(HasSubstr("osora probe")));
    }
}

TEST(Planner, TakesAllReduceFromWhatAProbeMeasured) {
    auto r = on_nodes(4);
    r.config.parallel.overlap = false;
    std::vector<double> exposed;
    for (double const gbit : {0.1, 0.2}) {
        r.network = MeasuredNetwork{links_of(4, gbit), "4 nodes, 2 h ago"};
        auto const plan = plan_of(r);
        exposed.push_back(plan.predicted.exposed_comm_s);
        EXPECT_THAT(plan.reasons, Contains("all_reduce as measured on 4 nodes, 2 h ago: ring over "
                                           "measured links"));
        EXPECT_LT(plan.predicted.step_time_error, 0.6);
    }
    // Of 4 nodes each sends 1.5 times the gradients: 2.85 MiB of stdit3-tiny.
    EXPECT_NEAR(exposed[0], 1.5 * 2.85 * (1 << 20) * 8 / 0.1e9, 0.02);
    EXPECT_NEAR(exposed[0] / exposed[1], 2, 0.05);
}

TEST(Planner, ARehearsalIsExpectedToTakeTheWorkThatItIsGiven) {
    auto r = on_nodes(4);
    r.network = MeasuredNetwork{links_of(4, 0.1), "4 nodes, now"};
    auto const trained = plan_of(r);
    BucketCompute const work{
        .forward_s = 1, .backward_s = 0.001, .optimizer_s = 0.5, .source = "test"};
    r.compute_times.assign(r.config.bucket.size(), work);
    auto const rehearsed = plan_of(r);
    EXPECT_DOUBLE_EQ(rehearsed.predicted.compute_s, 1.501);
    EXPECT_DOUBLE_EQ(rehearsed.predicted.loader_s, 0);
    EXPECT_DOUBLE_EQ(rehearsed.predicted.step_time_s, 1.501 + rehearsed.predicted.exposed_comm_s);
    EXPECT_GT(rehearsed.predicted.exposed_comm_s, trained.predicted.exposed_comm_s)
        << "a millisecond of backward hides less";
    EXPECT_LT(rehearsed.predicted.step_time_error, 0.1);
    r.network.reset();
    EXPECT_DOUBLE_EQ(plan_of(r).predicted.step_time_error, 0.6);
    EXPECT_EQ(rehearsed.chosen.grad_bucket_mib, trained.chosen.grad_bucket_mib);
}

// (p - 1) / m of the work that it is given waits in a pipeline of p stages with m micro-batches;
// layers that ranks share exchange their inputs over the measured links.
TEST(Planner, ARehearsalHasTheBubbleAndTheExchangesOfItsLayout) {
    auto r = on_nodes(2);
    r.config.batch.global_batch_size = 32;
    for (BucketSection& bucket : r.config.bucket) bucket.micro_batch_size = 4;
    BucketCompute const work{.forward_s = 1, .backward_s = 2, .optimizer_s = 0.5, .source = "test"};
    r.compute_times.assign(r.config.bucket.size(), work);
    auto const in_layout = [&](double gbit_s, int tp_size, int pp_size) {
        r.network = MeasuredNetwork{links_of(2, gbit_s), "2 nodes, now"};
        r.config.parallel.tp_size = tp_size;
        r.config.parallel.pp_size = pp_size;
        return plan_of(r);
    };
    auto const piped = in_layout(10, 1, 2);
    ASSERT_EQ(piped.chosen.buckets[0].grad_accum_steps, 8);
    EXPECT_DOUBLE_EQ(piped.predicted.compute_s, 3.5);
    EXPECT_NEAR(piped.predicted.bubble_s, 3.0 / 8, 0.02);
    double const slow = in_layout(0.1, 2, 1).predicted.exposed_comm_s,
                 fast = in_layout(0.2, 2, 1).predicted.exposed_comm_s;
    EXPECT_NEAR(slow / fast, 2, 0.2);
    EXPECT_GT(fast, 0);
}

}  // namespace
}  // namespace osora::plan
