#include "plan/config/cross_checks.hpp"
#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ResolvedConfig staged(std::string const& text, std::vector<std::string> const& sets = {}) {
    return resolve(std::string(kMinimal) + text, sets);
}

// Lines are counted from kMinimal's five.
TEST(Stages, EachIsLaidOverTheOneBefore) {
    auto const resolved = staged(
        "[[stage]]\nat_step = 300\noptim.lr = 1e-5\noptim.warmup_steps = 0\n"
        "[[stage.bucket]]\nresolution = \"48\"\nnum_frames = 16\n"
        "[[stage]]\nat_step = 600\n[stage.batch]\nmin = 4\n",
        {"train.seed=5", "optim.beta2=0.9"});
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    EXPECT_EQ(resolved.config.optim.lr, RunConfig{}.optim.lr);
    EXPECT_EQ(resolved.config.bucket[0].num_frames, 8);
    ASSERT_EQ(resolved.stages.size(), 2u);
    ResolvedStage const& first = resolved.stages[0];
    EXPECT_EQ(first.at_step, 300);
    EXPECT_EQ(first.config.optim.lr, 1e-5);
    EXPECT_EQ(first.config.optim.beta2, 0.9);  // --set counts for all stages
    EXPECT_EQ(first.config.train.seed, 5);
    ASSERT_EQ(first.config.bucket.size(), 1u);
    EXPECT_EQ(first.config.bucket[0].num_frames, 16);
    EXPECT_TRUE(first.new_rate);
    EXPECT_EQ(first.origins.at("optim.lr").line, 8);
    ResolvedStage const& second = resolved.stages[1];
    EXPECT_EQ(second.config.optim.lr, 1e-5);
    EXPECT_EQ(second.config.batch.min, 4);
    EXPECT_EQ(second.config.bucket[0].resolution, "48");
    EXPECT_FALSE(second.new_rate);
    EXPECT_THAT(texts(unsupported(resolved)), IsEmpty());
}

TEST(Stages, WrongValuesAreNamedWithTheirLines) {
    EXPECT_THAT(
        texts(staged("[[stage]]\nat_step = 0\n[stage.optim]\nlr = -1\nlrr = 2\n[[stage]]\n")
                  .problems),
        ElementsAre("run.toml:7: stage[0].at_step = 0: must be at least 1; nearest valid: 1",
                    "run.toml:9: stage[0].optim.lr = -1: must be above 0 and at most 1000",
                    "run.toml:10: unknown key stage[0].optim.lrr; did you mean lr?",
                    "run.toml:11: stage[1]: at_step is missing"));
    EXPECT_THAT(texts(resolve("stage = 4\n" + std::string(kMinimal)).problems),
                ElementsAre("run.toml:1: stage: expected a list of tables ([[stage]] before each), "
                            "found an integer"));
}

TEST(Stages, FollowEachOtherInsideTheRun) {
    EXPECT_THAT(texts(staged("[[stage]]\nat_step = 5\n[[stage]]\nat_step = 5\n").problems),
                ElementsAre("run.toml:9: stage[1].at_step = 5: the stage before it begins at 5; "
                            "nearest valid: 6"));
    auto const late = staged("[[stage]]\nat_step = 70\n", {"train.steps=70"});
    EXPECT_THAT(texts(late.problems), IsEmpty());  // a short trial of a long run
    EXPECT_THAT(texts(without_effect(late)),
                ElementsAre("run.toml:6: stage at step 70: is not reached: train.steps = 70"));
}

TEST(Stages, WhatARunIsMadeOfCannotChange) {
    EXPECT_THAT(
        texts(staged("[[stage]]\nat_step = 5\nmodel.arch = \"stdit3-xl/2\"\n"
                     "optim.precision = \"fp16\"\noptim.lora_rank = 2\noptim.ema_decay = 0\n")
                  .problems),
        ElementsAre("run.toml:8: stage[0].model: cannot change during a run; sections that "
                    "can: bucket, batch, data, optim",
                    "run.toml:9: stage[0].optim.precision: cannot change during a run",
                    "run.toml:10: stage[0].optim.lora_rank: cannot change during a run",
                    "run.toml:11: stage[0].optim.ema_decay = 0.0: no average begins or ends in a "
                    "stage"));
}

TEST(Stages, RulesBetweenKeysHoldInEachStage) {
    EXPECT_THAT(
        texts(staged("[[stage]]\nat_step = 5\noptim.lr = 1e-5\n", {"optim.lr_min=5e-5"}).problems),
        ElementsAre("--set: stage[0].optim.lr_min = 5e-05: is above optim.lr = 1e-05; "
                    "nearest valid: 1e-05"));
    EXPECT_THAT(texts(staged("[[stage]]\nat_step = 5\nbatch = { min = 8, max = 4 }\n").problems),
                ElementsAre("run.toml:8: stage[0].batch.max = 4: is below batch.min = 8"));
}

}  // namespace
}  // namespace osora::plan
