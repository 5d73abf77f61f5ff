// Points of osora tune --batch as keys of the run file.
#include "cli/trial/batch_space.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

plan::BucketPlan bucket(int global, int micro) {
    plan::BucketPlan plan;
    plan.micro_batch_size = micro;
    plan.global_batch_size = global;
    return plan;
}

/// Two buckets of equal cost, the second with images of a tenth of the work.
plan::PlanDecision decision(int dp_size) {
    plan::PlanDecision decision;
    decision.chosen.dp_size = dp_size;
    decision.chosen.recompute = "none";
    decision.chosen.buckets = {bucket(8, 4), bucket(80, 20)};
    return decision;
}

plan::ResolvedConfig resolved() {
    plan::ResolvedConfig resolved;
    resolved.config.bucket = {{.resolution = "48", .num_frames = 4, .micro_batch_size = {}},
                              {.resolution = "32", .keep_prob = 0.5, .micro_batch_size = {}}};
    return resolved;
}

TEST(BatchSpace, OfOneRankHasMicroBatchesAndRecomputing) {
    auto const choices = batch_choices(resolved(), decision(1));
    EXPECT_THAT(choices.micro_batches, ElementsAre(1, 2, 4, 8));
    EXPECT_THAT(choices.recompute, ElementsAre("full", "selective", "none"));
    EXPECT_EQ(choices.planned, (plan::BatchPoint{0, 2, 4}));
    EXPECT_THAT(settings_of(choices, {0, 0, 2}),
                ElementsAre(Pair("batch.global_batch_size", "8"),
                            Pair("bucket",
                                 "[{ resolution = \"48\", num_frames = 4, keep_prob = 1.0, "
                                 "micro_batch_size = 2 }, { resolution = \"32\", num_frames = 1, "
                                 "keep_prob = 0.5, micro_batch_size = 20 }]"),
                            Pair("memory.recompute", "full")));
    EXPECT_EQ(point_text(choices, {0, 1, 1}), "1, 10 · selective");
}

TEST(BatchSpace, ThePlansChoiceHasItsMicroBatches) {
    auto planned = decision(2);
    planned.chosen.buckets = {bucket(6, 3), bucket(48, 24)};
    auto const choices = batch_choices(resolved(), planned);
    EXPECT_EQ(choices.planned.micro_batch, 3);
    EXPECT_EQ(point_text(choices, choices.planned), "3, 24 · none · dp 2");
    // 6 samples of 2 ranks are 3 passes of one: 2 do not divide them.
    EXPECT_EQ(point_text(choices, {0, 2, 2}), "1, 12 · none · dp 2");
}

TEST(BatchSpace, OtherLayoutsAreTriedOnceEach) {
    auto planned = decision(2);
    plan::Alternative tensor;
    tensor.layout.tp_size = 2;
    plan::Alternative stored = tensor;
    stored.layout.recompute = "full";  // the same ranks
    plan::Alternative sharded;
    sharded.layout.dp_size = 2;
    sharded.layout.zero_stage = 1;
    planned.alternatives = {tensor, stored, sharded};
    auto const choices = batch_choices(resolved(), planned);
    ASSERT_THAT(choices.layouts, SizeIs(3));
    auto const settings = settings_of(choices, {1, 0, 1});
    EXPECT_EQ(settings.at("parallel.tp_size"), "2");
    EXPECT_EQ(settings.at("parallel.zero_stage"), "0");
    EXPECT_EQ(point_text(choices, {2, 0, 1}), "1, 10 · full · dp 2 · ZeRO-1");
}

TEST(BatchSpace, KeysOfTheRunFileStay) {
    auto fixed = resolved();
    fixed.origins["memory.recompute"] = {.layer = plan::Layer::run, .file = "run.toml"};
    fixed.config.bucket[0].micro_batch_size = 4;
    auto const choices = batch_choices(fixed, decision(1));
    EXPECT_THAT(choices.recompute, ElementsAre("none"));
    EXPECT_THAT(choices.micro_batches, ElementsAre(4));
    EXPECT_THAT(settings_of(choices, choices.planned),
                ElementsAre(Pair("batch.global_batch_size", "8")));
}

TEST(BatchSpace, LinesNameTheirBuckets) {
    auto const lines = batch_lines(batch_choices(resolved(), decision(1)), {0, 1, 4});
    EXPECT_THAT(lines, HasSubstr("[batch]\nglobal_batch_size = 8\n"));
    EXPECT_THAT(lines, HasSubstr("[memory]\nrecompute = \"selective\"\n"));
    EXPECT_THAT(lines, HasSubstr("[[bucket]]  # 48 x 4\nmicro_batch_size = 4\n"));
    EXPECT_THAT(lines, HasSubstr("[[bucket]]  # 32 x 1\nmicro_batch_size = 20\n"));
}

}  // namespace
}  // namespace osora::cli::test
