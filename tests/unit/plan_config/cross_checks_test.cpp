#include "plan/config/cross_checks.hpp"

#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> unsupported_with(std::vector<std::string> const& sets) {
    return texts(unsupported(resolve(kMinimal, sets)));
}

TEST(CrossChecks, BatchLimits) {
    EXPECT_THAT(problems_of("batch = { min = 8, max = 4 }"),
                ElementsAre("run.toml:1: batch.max = 4: is below batch.min = 8"));
    EXPECT_THAT(problems_of("batch = { max = 64, global_batch_size = 65 }"),
                ElementsAre("run.toml:1: batch.global_batch_size = 65: is above batch.max = 64; "
                            "nearest valid: 64"));
    EXPECT_THAT(problems_of("batch = { min = 64, global_batch_size = 63 }"),
                ElementsAre("run.toml:1: batch.global_batch_size = 63: is below batch.min = 64; "
                            "nearest valid: 64"));
    EXPECT_THAT(problems_of("batch = { global_batch_size = 100000 }"), IsEmpty());
    // A limit that could not be read is not blamed on others.
    EXPECT_THAT(problems_of("batch = { max = \"x\", global_batch_size = 100000 }"),
                ElementsAre("run.toml:1: batch.max = \"x\": expected an integer, found a string"));
}

TEST(CrossChecks, Buckets) {
    EXPECT_THAT(texts(resolve("[data]\nmanifest = \"c\"\n").problems),
                ElementsAre("run.toml: bucket: none is given; add [[bucket]] with resolution = "
                            "\"64\" and num_frames = 8"));
    EXPECT_THAT(
        texts(
            resolve(std::string(kMinimal) + "[[bucket]]\nresolution=64\nnum_frames=8\n").problems),
        ElementsAre("run.toml:6: bucket[1]: 64 x 8 is given twice (also as bucket[0])"));
    EXPECT_THAT(problems_of_set("bucket[0].keep_prob=0"),
                ElementsAre("run.toml: bucket: keep_prob is 0 in all of them: no clip is left"));
}

TEST(CrossChecks, JobsNeedTheirInputs) {
    EXPECT_THAT(
        texts(resolve("[[bucket]]\nresolution = \"64\"\n").problems),
        ElementsAre("run.toml: data.manifest = \"\": the job needs one: a CSV with a column "
                    "path"));
    EXPECT_THAT(texts(resolve("[run]\njob = \"exec\"\n").problems),
                ElementsAre("run.toml:2: run.job = \"exec\": needs worker.command, as in command = "
                            "[\"python\", \"train.py\"]"));
    EXPECT_THAT(texts(resolve("[run]\njob = \"exec\"\n[worker]\ncommand = [\"x\"]\n").problems),
                IsEmpty());
    EXPECT_THAT(problems_of("worker.command = [\"x\"]"),
                ElementsAre("run.toml:1: worker.command = [\"x\"]: is used with run.job = \"exec\" "
                            "only"));
}

TEST(CrossChecks, WhatCannotBeRunYetIsValidAndRefusedAtSubmit) {
    EXPECT_THAT(unsupported_with({}), IsEmpty());
    EXPECT_THAT(unsupported_with({"resources.backend=ssh", "resources.nodes=2"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"resources.nodes=2"}),
                ElementsAre("--set: resources.nodes = 2: the local backend has one node; nearest "
                            "valid: 1"));
    EXPECT_THAT(
        unsupported_with({"run.job=sample"}),
        ElementsAre("--set: run.job = \"sample\": not available in this version; available: "
                    "train, train_vae, train_vqvae, probe, rehearse, exec"));
    EXPECT_THAT(unsupported_with({"run.job=rehearse"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"optim.grad_clip=adaptive"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"optim.lora_rank=8"}),
                ElementsAre("--set: optim.lora_rank = 8: not available in this version"));
    auto const staged = resolve(std::string(kMinimal) + "[[stage]]\nat_step = 5\n");
    EXPECT_THAT(texts(unsupported(staged)),
                ElementsAre("run.toml: stage: [[stage]] is not available in this version"));
}

TEST(CrossChecks, SlurmDoesWhatTheOthersDoNot) {
    std::vector<std::string> sets{"resources.backend=slurm", "resources.nodes=4",
                                  "resources.spares=1", "resources.time_limit=\"1:00:00\"",
                                  "faults.exclude_nodes=[\"n1\"]"};
    EXPECT_THAT(unsupported_with(sets), IsEmpty());
    EXPECT_THAT(texts(without_effect(resolve(kMinimal, sets))), IsEmpty());
    sets[0] = "resources.backend=local";
    EXPECT_THAT(unsupported_with(sets), testing::SizeIs(2));
    EXPECT_THAT(texts(without_effect(resolve(kMinimal, sets))), testing::SizeIs(2));
}

TEST(CrossChecks, SlurmOptionsThatOsoraSetsItself) {
    EXPECT_THAT(problems_of("slurm.extra = [\"--mail-type=END\", \"--exclusive\"]"), IsEmpty());
    EXPECT_THAT(problems_of("slurm.extra = [\"--nodes=4\"]"),
                ElementsAre("run.toml:1: slurm.extra = [\"--nodes=4\"]: --nodes is set by osora; "
                            "set resources.nodes"));
    EXPECT_THAT(problems_of("slurm.extra = [\"-N4\", \"--export=ALL,A=b,c\"]"), testing::SizeIs(2));
    EXPECT_THAT(problems_of("slurm.gpus = \"h100:8\""), IsEmpty());
    EXPECT_THAT(problems_of("slurm.gpus = \"8,a\""), testing::SizeIs(1));
}

TEST(CrossChecks, KeysWithoutEffectAreNamed) {
    auto const resolved = resolve(std::string(kMinimal) + "[notify]\nmail = \"a@b\"\n");
    EXPECT_THAT(texts(unsupported(resolved)), IsEmpty());
    EXPECT_THAT(texts(without_effect(resolved)),
                ElementsAre("run.toml:7: notify.mail = \"a@b\": has no effect in this version"));
}

}  // namespace
}  // namespace osora::plan
