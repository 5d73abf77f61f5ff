// The search over tp, sp and pp sizes: against every cut asked for by hand, and by its rules.
#include "plan/planner.hpp"
#include "plan/validate.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <random>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

/// `nodes` of eight GPUs of `gib` each.
PlanRequest on_gpus(int nodes, double gib, std::vector<BucketSection> buckets) {
    PlanRequest r;
    r.config.model.arch = "stdit3-xl/2";
    r.config.data.latents = "cache";
    r.config.resources.nodes = nodes;
    r.config.resources.gpus_per_node = 8;
    r.config.memory.gpu_memory_gib = gib;
    r.config.bucket = std::move(buckets);
    topology::Node node{"n", 96, std::int64_t{1} << 40, {}};
    auto const bytes = static_cast<std::int64_t>(gib * (1 << 30));
    for (int i = 0; i < 8; ++i) node.gpus.push_back({"NVIDIA H100", bytes});
    r.cluster.nodes.assign(static_cast<std::size_t>(nodes), node);
    r.calibration = nominal_gpu();
    return r;
}

PlanRequest asking_for(PlanRequest r, int tp, int sp, int pp) {
    r.config.parallel.tp_size.value = tp;
    r.config.parallel.sp_size.value = sp;
    r.config.parallel.pp_size.value = pp;
    return r;
}

/// Samples a second of every cut that can be asked for, the best of all; nullopt: none fits.
std::optional<double> best_by_hand(PlanRequest const& r, bool pipelines) {
    int const ranks = r.config.resources.nodes * r.config.resources.gpus_per_node;
    std::optional<double> best;
    for (int tp = 1; tp <= 8; ++tp) {
        for (int sp = 1; sp * tp <= 8; ++sp) {
            for (int pp = 1; pp <= (pipelines ? ranks : 1); ++pp) {
                if (8 % (tp * sp) != 0 || ranks % (tp * sp * pp) != 0) continue;
                auto const found = make_plan(asking_for(r, tp, sp, pp));
                if (found) best = std::max(best.value_or(0), found->predicted.samples_per_s);
            }
        }
    }
    return best;
}

TEST(CutSearch, NoCutByHandIsBetterByMoreThanPredictionsErr) {
    std::mt19937 random(7);
    int cut = 0, impossible = 0;
    for (int i = 0; i < 24; ++i) {
        double const gib[] = {14, 24, 80};
        char const* const sizes[] = {"144p", "360p", "720p"};
        int const frames[] = {1, 51, 204};
        PlanRequest r = on_gpus(1 + static_cast<int>(random() % 2), gib[random() % 3],
                                {{sizes[random() % 3], frames[random() % 3], 1.0, {}}});
        r.config.batch.global_batch_size = 64;
        bool const pipelines = random() % 3 == 0;
        if (pipelines) r.config.parallel.pp_size.value.reset();
        if (random() % 3 == 0) r.config.memory.recompute.value = "none";
        auto const found = make_plan(r);
        auto const best = best_by_hand(r, pipelines);
        ASSERT_EQ(found.has_value(), best.has_value()) << i;
        impossible += found ? 0 : 1;
        if (!found) continue;
        Prediction const& expected = found->predicted;
        EXPECT_GE(expected.samples_per_s * (1 + expected.step_time_error / 3), 0.999 * *best) << i;
        EXPECT_LE(expected.peak_memory_gib, 0.92 * r.config.memory.gpu_memory_gib) << i;
        LayoutPlan const& chosen = found->chosen;
        EXPECT_EQ(chosen.ranks(), 8 * r.config.resources.nodes);
        PlanRequest const same = asking_for(r, chosen.tp_size, chosen.sp_size, chosen.pp_size);
        EXPECT_TRUE(config_violations(same.config, same.cluster).empty()) << i;
        EXPECT_DOUBLE_EQ(plan_of(same).predicted.samples_per_s, expected.samples_per_s) << i;
        cut += chosen.dp_size < chosen.ranks() ? 1 : 0;
    }
    EXPECT_GT(cut, 2);
    EXPECT_GT(impossible, 0);
    EXPECT_LT(impossible, 12);
}

TEST(CutSearch, WhatFitsIsNotCut) {
    PlanDecision const decision = plan_of(on_gpus(1, 80, {{"144p", 1, 1.0, {}}}));
    EXPECT_EQ(decision.chosen.dp_size, 8);
    EXPECT_THAT(decision.reasons.front(), HasSubstr("dp only: "));
    EXPECT_THAT(decision.alternatives,
                Contains(Field(&Alternative::layout, Field(&LayoutPlan::sp_size, 2))));
}

TEST(CutSearch, TokensOfASampleThatFitsNoGpuAreShared) {
    PlanRequest r = on_gpus(1, 24, {{"360p", 102, 1.0, {}}});
    r.config.memory.recompute.value = "none";
    PlanDecision const decision = plan_of(r);
    ASSERT_LT(decision.chosen.dp_size, 8);
    EXPECT_THAT(decision.reasons.front(), HasSubstr("what shares less does not fit"));
    bool seen = false;
    for (Rejection const& each : decision.rejected)
        seen = seen || (each.layout.dp_size == 8 && each.reason.find("needs") != std::string::npos);
    EXPECT_TRUE(seen) << "that dp alone does not fit";
}

// 64 ranks cannot share 16 samples unless four of them take one together.
TEST(CutSearch, RanksShareSamplesWhereTheBatchHasTooFew) {
    PlanRequest r = on_gpus(8, 80, {{"720p", 51, 1.0, {}}});
    r.config.batch.global_batch_size = 16;
    PlanDecision const decision = plan_of(r);
    ASSERT_LE(decision.chosen.dp_size, 16);
    EXPECT_EQ(decision.chosen.buckets[0].global_batch_size, 16);
    r.config.parallel.tp_size = r.config.parallel.sp_size = 1;
    auto const refused = make_plan(r);
    ASSERT_TRUE(refused.has_error());
    EXPECT_THAT(refused.error().message, HasSubstr("does not divide over 64 ranks"));
}

// What is named makes it fit, and memory a little less than what is named does not.
TEST(Remedies, AreTrue) {
    PlanRequest r = on_gpus(1, 18, {{"360p", 102, 1.0, {}}});
    r.config.memory.recompute.value = "none";
    r.config.parallel.sp_size = 2;
    r.config.parallel.zero_stage = 2;
    r.config.batch.global_batch_size = 8;
    auto const refused = make_plan(r);
    ASSERT_TRUE(refused.has_error());
    std::string const message = refused.error().message;
    EXPECT_THAT(message, HasSubstr("tp 4, sp 2: bucket 360p x 102: micro-batch 1 needs "));
    EXPECT_THAT(message, HasSubstr("; it would fit with "));
    EXPECT_THAT(message, HasSubstr("memory.recompute = \"auto\", "));
    EXPECT_THAT(message, HasSubstr("parallel.tp_size and sp_size = \"auto\""));
    EXPECT_EQ(message.find("pp_size"), std::string::npos) << message;
    r.config.memory.recompute.value.reset();
    EXPECT_TRUE(make_plan(r).has_value());
    r.config.memory.recompute.value = "none";
    auto const at = message.find("or GPUs of ");
    ASSERT_NE(at, std::string::npos) << message;
    double const gib = std::stod(message.substr(at + 11));
    for (double const share : {1.0, 0.95}) {
        auto const bytes = static_cast<std::int64_t>(share * gib * (1 << 30));
        for (topology::Gpu& gpu : r.cluster.nodes[0].gpus) gpu.memory_bytes = bytes;
        EXPECT_EQ(make_plan(r).has_value(), share == 1.0) << message;
    }
}

TEST(CutSearch, OneCutForAllStagesOfARun) {
    PlanRequest r = on_gpus(1, 80, {{"144p", 1, 1.0, {}}});
    r.cut = Layout{.tp_size = 1, .pp_size = 1, .sp_size = 4, .dp_size = 2};
    PlanDecision const decision = plan_of(r);
    EXPECT_EQ(decision.chosen.sp_size, 4);
    EXPECT_THAT(decision.reasons.front(), HasSubstr("sp 4: one cut for all stages"));
    r.cut->sp_size = 5;
    auto const refused = make_plan(r);
    ASSERT_TRUE(refused.has_error());
    EXPECT_THAT(refused.error().message, HasSubstr("parallel.sp_size"));
}

// Between nodes with slow links ZeRO's gathers would take longest.
TEST(CutSearch, EachNodeHasACopyWhereLinksBetweenThemAreSlow) {
    auto const plan_with = [](double bytes_per_s, auto const& change) {
        PlanRequest r = on_gpus(2, 80, {{"360p", 17, 1.0, {}}});
        r.config.parallel.zero_stage = 3;
        r.config.parallel.tp_size = r.config.parallel.sp_size = 1;
        r.config.batch.global_batch_size = 16;
        r.nominal_network = CollectiveCurve::nominal(
            [=](double bytes) { return 1e-4 + bytes / bytes_per_s; }, "links");
        change(r);
        return plan_of(r);
    };
    auto const shared_by = [&](double bytes_per_s, auto const& change) {
        return plan_with(bytes_per_s, change).chosen.shard_size;
    };
    auto const as_it_is = [](PlanRequest&) {};
    EXPECT_EQ(shared_by(2e9, as_it_is), 8);
    EXPECT_EQ(shared_by(1e13, as_it_is), 0) << "the simpler one where it does not matter";
    EXPECT_EQ(shared_by(2e9, [](PlanRequest& r) { r.least_memory = true; }), 0)
        << "as another stage of the run needs it";
    auto const unused = plan_with(2e9, [](PlanRequest& r) {
        r.config.parallel.zero_stage.value.reset();
        r.config.parallel.shard_size = 8;
    });
    EXPECT_EQ(unused.chosen.shard_size, 0);
    EXPECT_THAT(unused.reasons, Contains(HasSubstr("parallel.shard_size divides nothing")));
}

TEST(CutSearch, OneRankHasNothingToDivide) {
    PlanDecision const decision = plan_of(request(1));
    ASSERT_FALSE(decision.reasons.empty());
    EXPECT_EQ(decision.reasons.front(), "one rank: there is nothing to divide");
    EXPECT_TRUE(decision.rejected.empty());
}

}  // namespace
}  // namespace osora::plan
