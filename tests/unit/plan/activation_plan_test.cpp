// The planner's way to hold activations, against what fits beside it.
#include "plan/memory.hpp"
#include "plan/model/model_sizes.hpp"
#include "plan/planner.hpp"
#include "tests/unit/plan/requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace osora::plan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// From the cheapest on: as they are, int8 where it may be, attention again, all again, an error.
TEST(ActivationPlan, AreHeldAsCheaplyAsFits) {
    PlanRequest r = request(1);
    r.config.batch.global_batch_size = 1;
    r.config.bucket.resize(1);  // of others several samples a step, in smaller micro-batches
    r.config.memory.rank_memory_gib = 8;
    double const plain = plan_of(r).predicted.peak_memory_gib;
    EXPECT_EQ(plan_of(r).chosen.recompute, "none");
    auto const chosen = [&](double share) {
        r.config.memory.rank_memory_gib = share * plain;
        LayoutPlan const layout = plan_of(r).chosen;
        return layout.recompute + ", " + layout.activation_store;
    };
    EXPECT_EQ(chosen(1.001), "none, none");
    EXPECT_EQ(chosen(0.999), "selective, none");
    EXPECT_THAT(plan_of(r).reasons, Contains(HasSubstr("recompute selective")));
    r.config.memory.allow_lossy = true;
    EXPECT_EQ(chosen(0.999), "none, int8");
    r.config.memory.recompute = std::string("full");
    EXPECT_EQ(chosen(1.5), "full, none");
    EXPECT_THAT(plan_of(r).reasons, Contains("recompute full, activation store none: set by you"));
}

PlanRequest adapters_of_wide_blocks() {
    PlanRequest r = request(1);
    r.config.batch.global_batch_size = 1;
    r.config.bucket.resize(1);
    r.config.model.hidden = 384;
    r.config.model.depth = 8;
    r.config.optim.lora_rank = 4;
    r.config.memory.rank_memory_gib = 4;
    return r;
}

// What osora report divides by the GPU's peak: 3 forward passes, or with adapters 2 and a third one
// of attention's products alone.
TEST(ActivationPlan, AdaptersComputeNoGradientsOfFrozenWeights) {
    PlanRequest r = adapters_of_wide_blocks();
    ModelShape const shape = model_shape(r.config.model).value();
    BucketPlan const with = plan_of(r).chosen.buckets[0];
    r.config.optim.lora_rank = 0;
    BucketPlan const without = plan_of(r).chosen.buckets[0];
    double const frames = std::ceil(with.num_frames / static_cast<double>(shape.patch_size[0]));
    double const per_frame = std::ceil(with.height / static_cast<double>(shape.patch_size[1])) *
                             std::ceil(with.width / static_cast<double>(shape.patch_size[2]));
    EXPECT_EQ(with.tokens_per_sample, frames * per_frame);
    // Of each pair of blocks: within frames, across them, and twice with the text.
    double const seen = per_frame + frames + 2.0 * shape.text_tokens;
    double const attention = 8.0 * frames * per_frame * 4 * 384 * seen;
    EXPECT_NEAR(with.gflop_per_sample, without.gflop_per_sample * 2 / 3 + attention / 1e9,
                1e-9 * without.gflop_per_sample);
}

// What a rank's memory is short of decides, and offloading comes before recomputing.
TEST(ActivationPlan, FrozenBlocksAreOffloadedIfNothingFitsWithout) {
    PlanRequest r = adapters_of_wide_blocks();
    PlanDecision const plain = plan_of(r);
    EXPECT_FALSE(plain.chosen.offload_frozen);
    r.config.memory.rank_memory_gib = 0.999 * plain.predicted.peak_memory_gib;
    PlanDecision const offloaded = plan_of(r);
    EXPECT_TRUE(offloaded.chosen.offload_frozen);
    EXPECT_EQ(offloaded.chosen.recompute, "none");
    EXPECT_THAT(offloaded.reasons,
                Contains(HasSubstr("in host memory, two blocks' at a time on the device: without, "
                                   "not one sample fits a rank")));
    // 14 of 16 blocks less, by hand: 16 c^2 + 19 c + 2 c / heads values each, fp32.
    double const c = 384, heads = 4;
    double const block_gib = 4 * (16 * c * c + 19 * c + 2 * c / heads) / (1 << 30);
    EXPECT_NEAR(plain.predicted.peak_memory_gib - offloaded.predicted.peak_memory_gib,
                14 * block_gib, 0.001 * block_gib);
    // The host has all of them.
    EXPECT_NEAR(offloaded.predicted.host_memory_gib - plain.predicted.host_memory_gib,
                (16 - 14 * MemoryConstants{}.host_factor) * block_gib, 0.01 * block_gib);
    r.config.memory.offload_frozen = false;
    EXPECT_EQ(plan_of(r).chosen.recompute, "selective");
    r.config.memory.recompute = std::string("none");
    EXPECT_THAT(make_plan(r).error().message, HasSubstr("memory.offload_frozen = true"));
}

TEST(ActivationPlan, FrozenBlocksAreOffloadedWhereTheRunFileSaysSo) {
    PlanRequest r = adapters_of_wide_blocks();
    r.config.memory.offload_frozen = true;
    EXPECT_TRUE(plan_of(r).chosen.offload_frozen);
    EXPECT_THAT(plan_of(r).reasons, Contains(HasSubstr("on the device: set by you")));
    // A cut into stages that the plan may choose is not one of its choices then.
    r.config.resources.gpus_per_node = 2;
    r.config.batch.global_batch_size = 2;
    r.config.optim.lora_rank = 0;
    r.config.optim.freeze = {"spatial_blocks."};
    PlanDecision const two = plan_of(r);
    EXPECT_TRUE(two.chosen.offload_frozen);
    EXPECT_EQ(two.chosen.pp_size, 1);
}

// Host memory is all that a rank on the CPU has.
TEST(ActivationPlan, CpuRanksWithoutACapKeepTheirBlocks) {
    PlanRequest r = adapters_of_wide_blocks();
    r.config.memory.rank_memory_gib.value.reset();
    double const needs = plan_of(r).predicted.host_memory_gib;
    r.cluster.nodes[0].memory_bytes = static_cast<std::int64_t>(0.97 * needs * (1 << 30));
    auto const short_of_it = make_plan(r);
    EXPECT_TRUE(short_of_it.has_error() || !short_of_it->chosen.offload_frozen);
}

}  // namespace
}  // namespace osora::plan
