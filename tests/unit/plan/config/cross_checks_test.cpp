#include "plan/config/cross_checks.hpp"

#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

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

TEST(CrossChecks, Columns) {
    EXPECT_THAT(problems_of_set("data.columns.text=\"caption\""), IsEmpty());
    EXPECT_THAT(problems_of_set("data.columns.text="), IsEmpty());
    EXPECT_THAT(
        problems_of_set("data.columns.caption=text"),
        ElementsAre(
            "--set: data.columns.caption = \"text\": \"caption\" is no column of osora's; they are "
            "path, text, num_frames, height, width, fps"));
    EXPECT_EQ(problems_of_set("data.bad_samples_max=1.5").size(), 1u);
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
                ElementsAre(HasSubstr("bucket[0].keep_prob = 0")));
    // No job takes a bucket without clips, also beside others.
    EXPECT_THAT(texts(resolve(std::string(kMinimal) +
                              "[[bucket]]\nresolution = 48\nnum_frames = 5\nkeep_prob = 0.0\n")
                          .problems),
                ElementsAre(AllOf(StartsWith("run.toml:9: bucket[1].keep_prob = 0"),
                                  HasSubstr(": no clip would be in it; leave the bucket out"))));
}

TEST(CrossChecks, FrameMasks) {
    EXPECT_THAT(problems_of("train.frame_masks = { image_head = 0.05, random = 0.95 }"), IsEmpty());
    EXPECT_THAT(problems_of("train.frame_masks = { identity = 0.75, interpolate = 0.25 }"),
                ElementsAre("run.toml:1: train.frame_masks = { identity = 0.75, interpolate = 0.25 "
                            "}: interpolate: unknown; did you mean intepolate?"));
    EXPECT_THAT(problems_of("train.frame_masks = { random = 0.75, image_head = 0.5 }"),
                ElementsAre("run.toml:1: train.frame_masks = { image_head = 0.5, random = 0.75 }: "
                            "the shares sum to 1.25; at most 1 is valid"));
    EXPECT_THAT(problems_of("train.frame_masks = { identity = 0.5, random = 0.25 }"),
                ElementsAre("run.toml:1: train.frame_masks = { identity = 0.5, random = 0.25 }: "
                            "the shares sum to 0.75, and identity is named; nearest valid: "
                            "identity = 0.75"));
    EXPECT_THAT(problems_of("train.frame_masks = { random = 1.5 }"),
                ElementsAre("run.toml:1: train.frame_masks = { random = 1.5 }: random: must be "
                            "between 0 and 1; nearest valid: 1"));
    EXPECT_THAT(problems_of("train.frame_masks = \"random\""),
                ElementsAre("run.toml:1: train.frame_masks = \"random\": expected a table of "
                            "numbers, found a string"));
    EXPECT_THAT(problems_of("train.timestep_shift = \"yes\""),
                ElementsAre("run.toml:1: train.timestep_shift = \"yes\": expected true or false, "
                            "or \"auto\", found a string"));
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

TEST(CrossChecks, KeysOfTheOptimizerFitEachOther) {
    EXPECT_THAT(problems_of("optim.lr = 1e-5\noptim.lr_min = 1e-4"),
                ElementsAre("run.toml:2: optim.lr_min = 0.0001: is above optim.lr = 1e-05; nearest "
                            "valid: 1e-05"));
    EXPECT_THAT(problems_of("optim.lora_rank = 8\noptim.freeze = [\"x\"]"),
                ElementsAre("run.toml:2: optim.freeze = [\"x\"]: with optim.lora_rank all weights "
                            "are frozen; nearest valid: []"));
}

TEST(CrossChecks, WhatCannotBeRunYetIsValidAndRefusedAtSubmit) {
    EXPECT_THAT(unsupported_with({}), IsEmpty());
    EXPECT_THAT(unsupported_with({"resources.backend=ssh", "resources.nodes=2"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"resources.nodes=2"}),
                ElementsAre("--set: resources.nodes = 2: the local backend has one node; nearest "
                            "valid: 1"));
    EXPECT_THAT(unsupported_with({"run.job=score"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"run.job=sample"}),
                ElementsAre("--set: run.job = \"sample\": is a command, no run: osora sample "
                            "CHECKPOINT"));
    EXPECT_THAT(unsupported_with({"run.job=rehearse"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"optim.grad_clip=adaptive"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"optim.lora_rank=8"}), IsEmpty());
    EXPECT_THAT(unsupported_with({"resources.time_limit=01:00:00"}),
                ElementsAre("--set: resources.time_limit = \"01:00:00\": not available in this "
                            "version"));
    std::string const staged = std::string(kMinimal) + "[[stage]]\nat_step = 5\n";
    EXPECT_THAT(texts(unsupported(resolve(staged))), IsEmpty());
    EXPECT_THAT(texts(unsupported(resolve(staged, {"run.job=rehearse"}))),
                ElementsAre("run.toml: stage: is used with run.job = \"train\" only"));
}

TEST(CrossChecks, ScoresNeedAFileAndNamesThatExist) {
    EXPECT_THAT(problems_of("run = { job = \"score\" }"),
                ElementsAre("run.toml: score.output = \"\": the job needs one: a CSV"));
    std::string const run = "run = { job = \"score\" }\nscore = { output = \"s.csv\"";
    EXPECT_THAT(problems_of(run + " }"), IsEmpty());
    EXPECT_THAT(problems_of(run + ", scores = [\"text\"], frames = 1, deadline = 5 }"), IsEmpty());
    EXPECT_THAT(problems_of(run + ", scores = [] }"),
                ElementsAre("run.toml:2: score.scores = []: is empty: nothing is left to measure"));
    EXPECT_THAT(problems_of(run + ", scores = [\"flow\"], flow = \"f.pt\" }"), IsEmpty());
    EXPECT_THAT(problems_of(run + ", scores = [], aesthetic = \"a.pt\" }"), IsEmpty());
    EXPECT_THAT(problems_of(run + ", scores = [\"flow\"], aesthetic = \"a.pt\" }"),
                ElementsAre("run.toml:2: score.scores = [\"flow\"]: flow needs a TorchScript file: "
                            "flow = \"flow.pt\" in [score]"));
    for (std::string const wrong : {"scores = [\"moton\"]", "frames = 0", "frames = 65"})
        EXPECT_THAT(problems_of(run + ", " + wrong + " }"), SizeIs(1)) << wrong;
}

TEST(CrossChecks, ProgressiveTuningNeedsStepsThatMayDiffer) {
    std::string const on = "[tune]\nprogressive = true\n";
    EXPECT_THAT(problems_of(on), IsEmpty());
    EXPECT_THAT(problems_of(on + "[train]\ndeterministic = true\n"),
                ElementsAre("run.toml:2: tune.progressive = true: train.deterministic asks for the "
                            "same bits every time, and the time that steps take would decide about "
                            "rounding; nearest valid: false"));
    EXPECT_THAT(problems_of(on + "[debug]\nbucket_schedule = \"original\"\n"), SizeIs(1));
    EXPECT_THAT(problems_of(on + "[run]\njob = \"train_vqvae\"\n"),
                testing::Contains(testing::HasSubstr(
                    "tune.progressive = true: is used with run.job = \"train\" only")));
}

TEST(CrossChecks, Caches) {
    EXPECT_THAT(
        problems_of("run = { job = \"encode\" }"),
        ElementsAre("run.toml: encode.out = \"\": the job needs one: the folder of the cache"));
    EXPECT_THAT(problems_of("run = { job = \"encode\" }\nencode = { out = \"c\" }"), IsEmpty());
    EXPECT_THAT(
        problems_of("run = { job = \"encode\" }\nencode = { out = \"c\", latents = false }"),
        ElementsAre("run.toml:2: encode.latents = false: is false and text.encoder is empty: "
                    "nothing is left"));
    auto const cached = [](std::string const& more) {
        return texts(
            resolve("[data]\nlatents = \"c\"\n[[bucket]]\nresolution = \"64\"\n" + more).problems);
    };
    EXPECT_THAT(cached(""), IsEmpty());  // no manifest is needed
    EXPECT_THAT(cached("[debug]\nbucket_schedule = \"original\"\n"),
                ElementsAre("run.toml:6: debug.bucket_schedule = \"original\": \"original\" needs "
                            "clips; with data.latents: balanced"));
    EXPECT_THAT(unsupported_with({"data.latents=c", "text.embeddings=c", "data.eval_manifest=e"}),
                IsEmpty());
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
    auto const resolved = resolve(std::string(kMinimal) + "[faults]\nexclude_nodes = [\"n1\"]\n");
    EXPECT_THAT(texts(unsupported(resolved)), IsEmpty());
    EXPECT_THAT(
        texts(without_effect(resolved)),
        ElementsAre("run.toml:7: faults.exclude_nodes = [\"n1\"]: has no effect in this version"));
}

}  // namespace
}  // namespace osora::plan
