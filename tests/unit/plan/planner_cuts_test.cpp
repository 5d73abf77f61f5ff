// Plans whose ranks share tokens, layers or blocks.
#include "plan/planner.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using ::testing::HasSubstr;

TEST(Planner, RanksThatShareTokensCountOnceForTheBatch) {
    PlanRequest r = request(4);
    r.cluster.nodes[0].cores = 8;
    r.config.batch.global_batch_size = 64;
    PlanDecision const apart = plan_of(r);
    r.config.parallel.sp_size = 2;
    PlanDecision const shared = plan_of(r);
    EXPECT_EQ(shared.chosen.sp_size, 2);
    EXPECT_EQ(shared.chosen.dp_size, 2);
    EXPECT_EQ(shared.chosen.ranks(), 4);
    EXPECT_THAT(shared.reasons.front(), HasSubstr("sp 2: set by you; "));
    for (std::size_t i = 0; i < shared.chosen.buckets.size(); ++i) {
        BucketPlan const &one = apart.chosen.buckets[i], &two = shared.chosen.buckets[i];
        EXPECT_EQ(two.global_batch_size, one.global_batch_size);
        EXPECT_EQ(two.micro_batch_size * two.grad_accum_steps * 2, two.global_batch_size);
    }
    // As much work; the trades of tokens come on top.
    EXPECT_NEAR(shared.predicted.compute_s / apart.predicted.compute_s, 1, 0.15);
    EXPECT_LT(apart.predicted.exposed_comm_s, shared.predicted.exposed_comm_s);
    for (Rejection const& each : shared.rejected) {
        EXPECT_NE(each.layout.sp_size, 2);
        if (each.layout.tp_size == 2 || each.layout.pp_size == 2) {
            EXPECT_EQ(each.reason, "parallel.sp_size is set by you");
        }
    }
}

TEST(Planner, SaysHowRanksShareTokensAndWhy) {
    using ::testing::Contains;
    PlanRequest r = request(4);
    r.config.batch.global_batch_size = 64;
    EXPECT_EQ(plan_of(r).chosen.sp_kind, "");
    r.config.parallel.sp_size = 4;
    PlanDecision const heads = plan_of(r);
    EXPECT_EQ(heads.chosen.sp_kind, "ulysses");
    EXPECT_THAT(heads.reasons,
                Contains("sp_kind ulysses (tokens for heads): sp_size 4 divides 4 heads"));
    r.config.parallel.sp_kind = std::string("ring");
    PlanDecision const ring = plan_of(r);
    EXPECT_EQ(ring.chosen.sp_kind, "ring");
    EXPECT_THAT(ring.reasons, Contains("sp_kind ring (keys and values pass 4 ranks): set by you"));
    r = request(8);  // four heads
    r.config.batch.global_batch_size = 64;
    r.config.parallel.sp_size = 8;
    EXPECT_THAT(plan_of(r).reasons, Contains("sp_kind ring (keys and values pass 8 ranks): sp_size "
                                             "8 does not divide 4 heads"));
    r.config.parallel.sp_kind = std::string("ulysses");
    EXPECT_THAT(make_plan(r).error().message, HasSubstr("does not divide 4 heads"));
}

TEST(Planner, RanksThatShareLayersCountOnceForTheBatch) {
    PlanRequest r = request(4);
    r.cluster.nodes[0].cores = 8;
    r.config.batch.global_batch_size = 64;
    PlanDecision const apart = plan_of(r);
    r.config.parallel.tp_size = 2;
    PlanDecision const shared = plan_of(r);
    EXPECT_EQ(shared.chosen.tp_size, 2);
    EXPECT_EQ(shared.chosen.dp_size, 2);
    EXPECT_EQ(shared.chosen.ranks(), 4);
    EXPECT_THAT(shared.reasons.front(), HasSubstr("tp 2: set by you; "));
    EXPECT_LT(shared.predicted.peak_memory_gib, apart.predicted.peak_memory_gib);
    EXPECT_LT(apart.predicted.exposed_comm_s, shared.predicted.exposed_comm_s);
    for (Rejection const& each : shared.rejected) EXPECT_NE(each.layout.tp_size, 2);
    r.config.parallel.sp_size = 2;
    PlanDecision const both = plan_of(r);
    EXPECT_EQ(both.chosen.dp_size, 1);
    EXPECT_THAT(both.reasons.front(), HasSubstr("tp 2, sp 2: set by you; 4 ranks"));
}

// (m + p - 1) passes of a stage for m micro-batches: the bubble is (p - 1) / m of the work.
TEST(Planner, APipelineHasItsBubble) {
    PlanRequest r = request(4);
    r.cluster.nodes[0].cores = 8;
    r.config.batch.global_batch_size = 64;
    double const apart = plan_of(r).predicted.peak_memory_gib;
    r.config.parallel.pp_size = 2;
    PlanDecision const decision = plan_of(r);
    EXPECT_EQ(decision.chosen.pp_size, 2);
    EXPECT_EQ(decision.chosen.dp_size, 2);
    EXPECT_THAT(decision.reasons.front(), HasSubstr("pp 2: set by you; "));
    EXPECT_EQ(decision.chosen.run_ends, (std::vector<std::int64_t>{2, 4}));
    EXPECT_LT(decision.predicted.peak_memory_gib, apart);
    BucketPlan const& bucket = decision.chosen.buckets[0];
    EXPECT_GT(bucket.grad_accum_steps, 1);  // so that stages have work side by side
    double const bubble = decision.predicted.bubble_s / decision.predicted.compute_s;
    EXPECT_GT(bubble, 0);
    EXPECT_LT(bubble, 0.8);
}

// Its ranks would end at once, after the others have waited for a node.
TEST(Planner, RefusesAStageWithNothingToTrain) {
    PlanRequest r = request(4);
    r.cluster.nodes[0].cores = 8;
    r.config.batch.global_batch_size = 64;
    r.config.optim.freeze = {"spatial_blocks.0.", "temporal_blocks.0."};
    r.config.parallel.pp_size = 2;
    EXPECT_EQ(plan_of(r).chosen.pp_size, 2);  // the first stage has the embedders
    for (char const* name :
         {"x_embedder.", "t_embedder.", "fps_embedder.", "t_block.", "y_embedder.", "rope."})
        r.config.optim.freeze.emplace_back(name);
    auto const refused = make_plan(r);
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Errc::invalid_input);
    EXPECT_THAT(refused.error().message,
                HasSubstr("parallel.pp_size = 2: optim.freeze leaves stage 0 nothing to train"));
    r.config.parallel.pp_size = 1;
    EXPECT_TRUE(make_plan(r).has_value());
}

TEST(Planner, GradientsOfHalfTheBytesTakeHalfTheTime) {
    PlanRequest r = request(2);
    r.config.parallel.overlap = false;
    r.config.parallel.zero_stage = 0;
    r.config.parallel.grad_bucket_mib = 1;
    double const whole = plan_of(r).predicted.exposed_comm_s;
    r.config.parallel.reduce_dtype = std::string("bf16");
    PlanDecision const halves = plan_of(r);
    EXPECT_EQ(halves.chosen.reduce_dtype, "bf16");
    EXPECT_LT(halves.predicted.exposed_comm_s / whole, 0.75);  // and the latency of calls
    EXPECT_THAT(
        halves.reasons,
        testing::Contains(HasSubstr("gradients travel as bf16: set by you; 2 ranks add in")));
}

// docs/rfc/023: an all_reduce adds in the type that travels; Gloo ranks of a ZeRO stage do not.
TEST(Planner, SaysWhereRanksAddRoundedGradients) {
    auto const said = [](int zero_stage, char const* precision, int pp_size = 1) {
        PlanRequest r = request(2);
        r.config.batch.global_batch_size = 64;
        r.config.parallel.zero_stage = zero_stage;
        r.config.parallel.pp_size = pp_size;
        r.config.optim.precision = precision;
        r.origins["optim.precision"] = {Layer::run, "r.toml", 9};
        return plan_of(r).reasons;
    };
    auto const rounds = testing::Contains(
        HasSubstr("gradients travel as bf16, as the weights, and 2 ranks add them in that type; "
                  "parallel.reduce_dtype = \"fp32\" rounds none"));
    EXPECT_THAT(said(0, "bf16"), rounds);
    EXPECT_THAT(said(1, "bf16"), testing::Not(rounds));
    EXPECT_THAT(said(0, "fp32"), testing::Not(rounds));
    EXPECT_THAT(said(0, "bf16", 2), testing::Not(rounds)) << "each rank has its own weights";
}

// From stage 2 on up to nine buckets exist at a time: those of the chosen size have to fit.
TEST(Planner, MemoryIsThatOfTheChosenGradientBuckets) {
    PlanRequest r = request(2);
    r.config.model.arch = "stdit3-xl/2";
    r.config.data.latents = "cache";
    r.config.bucket = {{"144p", 1, 1.0, 4}};  // other passes would change the memory, too
    r.config.parallel.tp_size = r.config.parallel.sp_size = 1;
    r.config.parallel.zero_stage = 2;
    r.config.memory.recompute = std::string("none");
    r.config.batch.global_batch_size = 8;
    r.cluster.nodes[0].memory_bytes = std::int64_t{256} << 30;
    r.calibration.all_reduce = {2, 0.02, 1e-9};  // calls take long: few are better
    auto const as_written = [&](PlanDecision const& decision) {
        PlanRequest written = r;
        written.config.parallel.grad_bucket_mib = decision.chosen.grad_bucket_mib;
        return plan_of(written).predicted.peak_memory_gib;
    };
    PlanDecision const roomy = plan_of(r);
    EXPECT_GT(roomy.chosen.grad_bucket_mib, 25);
    EXPECT_DOUBLE_EQ(roomy.predicted.peak_memory_gib, as_written(roomy));
    r.config.memory.rank_memory_gib.value = roomy.predicted.peak_memory_gib - 0.01;
    PlanDecision const tight = plan_of(r);
    EXPECT_LT(tight.predicted.peak_memory_gib, roomy.predicted.peak_memory_gib);
    EXPECT_DOUBLE_EQ(tight.predicted.peak_memory_gib, as_written(tight));
}

// What a node has is shared by its own ranks, however many nodes there are.
TEST(Planner, MoreNodesTakeNothingOfANode) {
    PlanRequest r = request(1);
    r.config.batch.global_batch_size = 64;
    PlanDecision const one = plan_of(r);
    r.config.resources.nodes = 64;
    r.config.data.host_memory_gib = 0.25;  // of each node, for its loader
    PlanDecision const many = plan_of(r);
    EXPECT_LT(many.predicted.host_memory_gib, one.predicted.host_memory_gib * 1.1);
    EXPECT_GT(many.predicted.host_memory_gib, 0.1);
}

// Two runs of blocks a stage: half the bubble, and 1 + 1 / 4 of the activations.
TEST(Planner, VirtualStagesHalveTheBubble) {
    PlanRequest r = request(4);
    r.cluster.nodes[0].cores = 8;
    r.config.batch.global_batch_size = 64;
    r.config.parallel.pp_size = 2;
    for (BucketSection& bucket : r.config.bucket) bucket.micro_batch_size = 4;
    PlanDecision const one = plan_of(r);
    r.config.parallel.virtual_stages = 2;
    PlanDecision const two = plan_of(r);
    EXPECT_EQ(two.chosen.virtual_stages, 2);
    EXPECT_THAT(two.reasons.front(), HasSubstr("pp 2, virtual stages 2: set by you"));
    EXPECT_NEAR(two.predicted.bubble_s / one.predicted.bubble_s, 0.5, 0.1);
    EXPECT_LT(one.predicted.peak_memory_gib, two.predicted.peak_memory_gib);
    EXPECT_EQ(two.chosen.run_ends, (std::vector<std::int64_t>{1, 2, 3, 4}));
    EXPECT_TRUE(plan_of(request(1)).chosen.run_ends.empty());
}

// Over a slow link 1F1B waits for it in every round, but keeps fewer micro-batches.
TEST(Planner, StagesAreFurtherAheadWhereThatFitsAndSavesTime) {
    using ::testing::Contains;
    PlanRequest r = request(1);
    r.config.resources.nodes = 4;
    r.config.resources.backend = "slurm";
    r.config.batch.global_batch_size = 64;
    r.config.parallel.pp_size = 4;
    for (BucketSection& bucket : r.config.bucket) bucket.micro_batch_size = 4;
    auto const over = [&](double gbit_s) {
        topology::ProbeResult probe;
        probe.pairs.resize(1);
        probe.pairs[0].latency_us = 100;
        for (char const* node : {"n0", "n1", "n2", "n3"}) {
            probe.nodes.emplace_back(node);
            probe.scores.push_back(
                {.gbit_s = gbit_s, .of_median = 1, .samples = 5, .interface = {}});
        }
        r.network = MeasuredNetwork{probe, "4 nodes, now"};
        return plan_of(r);
    };
    PlanDecision const eager = over(0.5);
    EXPECT_EQ(eager.chosen.pp_schedule, "eager_1f1b");
    EXPECT_THAT(eager.reasons, Contains("pp_schedule eager_1f1b (up to 7 micro-batches in flight): "
                                        "hides messages between stages, and fits"));
    r.config.parallel.pp_schedule = std::string("1f1b");
    PlanDecision const waiting = over(0.5);
    EXPECT_EQ(waiting.chosen.pp_schedule, "1f1b");
    EXPECT_THAT(waiting.reasons, Contains("pp_schedule 1f1b: set by you"));
    EXPECT_LT(eager.predicted.bubble_s, waiting.predicted.bubble_s);
    EXPECT_GT(eager.predicted.peak_memory_gib, waiting.predicted.peak_memory_gib);
    r.config.parallel.pp_schedule = {};
    r.config.memory.rank_memory_gib =
        (eager.predicted.peak_memory_gib + waiting.predicted.peak_memory_gib) / 2;
    PlanDecision const small = over(0.5);
    EXPECT_EQ(small.chosen.pp_schedule, "1f1b") << "does not fit";
    EXPECT_THAT(small.reasons,
                Contains("pp_schedule 1f1b: eager_1f1b would save under 1 %, or does not fit"));
    r.least_memory = true;
    r.config.memory.rank_memory_gib = {};
    EXPECT_EQ(over(0.5).chosen.pp_schedule, "1f1b") << "one order for all stages of the run";
}

}  // namespace
}  // namespace osora::plan
