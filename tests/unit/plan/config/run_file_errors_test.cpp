// Every kind of error with its exact text: these lines are what users see.
#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Case {
    char const* line;     // at line 1 of a run file that is valid otherwise
    char const* message;  // behind "run.toml:1: "
};

class WrongValue : public testing::TestWithParam<Case> {};

TEST_P(WrongValue, IsNamedWithItsPlaceAndTheNearestValidOne) {
    EXPECT_THAT(problems_of(GetParam().line),
                ElementsAre(std::string("run.toml:1: ") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    RunFileErrors, WrongValue,
    testing::Values(
        Case{"resources.nodes = \"two\"",
             "resources.nodes = \"two\": expected an integer, found a string"},
        Case{"resources.nodes = \"2\"",
             "resources.nodes = \"2\": expected an integer, found a string; write 2"},
        Case{"train.steps = 100.0",
             "train.steps = 100.0: expected an integer, found a float; write 100"},
        Case{"train.steps = true", "train.steps = true: expected an integer, found a boolean"},
        Case{"faults.lost_after = 1",
             "faults.lost_after = 1: must be between 2 and 86400; nearest valid: 2"},
        Case{"train.steps = 0", "train.steps = 0: must be at least 1; nearest valid: 1"},
        Case{"parallel.zero_stage = 4",
             "parallel.zero_stage = 4: must be between 0 and 3, or \"auto\"; nearest valid: 3"},
        Case{"parallel.tp_size = \"many\"",
             "parallel.tp_size = \"many\": expected an integer, or "
             "\"auto\", found a string"},
        Case{"train.steps = \"auto\"",
             "train.steps = \"auto\": expected an integer, found a string"},
        Case{"train.steps = 99999999999",
             "train.steps = 99999999999: must be at "
             "most 2147483647; nearest valid: 2147483647"},
        Case{"optim.lr = 0", "optim.lr = 0: must be above 0 and at most 1000"},
        Case{"optim.lr = \"1e-4\"",
             "optim.lr = \"1e-4\": expected a number, found a string; write 1e-4"},
        Case{"optim.lr = nan", "optim.lr = nan: must be a finite number"},
        Case{"optim.ema_decay = 1.5",
             "optim.ema_decay = 1.5: must be between 0 and 1; nearest valid: 1"},
        Case{"optim.grad_clip = \"auto\"",
             "optim.grad_clip = \"auto\": expected a number, or \"adaptive\", found a string"},
        Case{"parallel.overlap = 1",
             "parallel.overlap = 1: expected true or false, found an integer"},
        Case{"parallel.overlap = \"true\"",
             "parallel.overlap = \"true\": expected true or false, "
             "found a string; write true"},
        Case{"optim.precision = \"bf61\"",
             "optim.precision = \"bf61\": must be one of bf16, fp16, "
             "fp32; did you mean bf16?"},
        Case{"resources.backend = \"kubernetes\"",
             "resources.backend = \"kubernetes\": must be one of local, ssh, slurm"},
        Case{"memory.recompute = \"ful\"",
             "memory.recompute = \"ful\": must be one of none, selective, full, or an integer "
             "between 1 and 65536, or \"auto\"; did you mean full?"},
        Case{"memory.recompute = 0",
             "memory.recompute = 0: must be between 1 and 65536, or \"auto\"; nearest valid: 1"},
        Case{"run.name = \"my run\"",
             "run.name = \"my run\": must be a letter, then letters, digits, . _ or -, at most 64 "
             "in all; nearest valid: my-run"},
        Case{"resources.bind_cpus = true",
             "resources.bind_cpus = true: must be one of auto, always, never"},
        Case{"run.name = 7", "run.name = 7: expected a string, found an integer; write \"7\""},
        Case{"model.init = \"a\\u0000b\"", "model.init = \"a\\u0000b\": contains a zero byte"},
        Case{"resources.time_limit = \"24h\"",
             "resources.time_limit = \"24h\": must be HH:MM:SS or D-HH:MM:SS"},
        Case{"faults.exclude_nodes = \"n1\"",
             "faults.exclude_nodes = \"n1\": expected a list of "
             "strings, found a string; write [\"n1\"]"},
        Case{"faults.exclude_nodes = [\"n1\", 2]",
             "faults.exclude_nodes = [ 'n1', 2 ]: element 1: expected a string, found an integer; "
             "write \"2\""},
        Case{"notify.on = [\"ende\"]",
             "notify.on = [ 'ende' ]: element 0: must be one of end, "
             "failure, regression; did you mean end?"},
        Case{"slurm.prolog = [\"module load\"]",
             "slurm.prolog = [ 'module load' ]: element 0: expected a list of strings, found a "
             "string; write [\"module load\"]"},
        Case{"nccl.NCCL_IB_TC = 106",
             "nccl.NCCL_IB_TC = 106: expected a string, found an integer; write \"106\""},
        Case{"nccl.IB_TC = \"106\"",
             "nccl.IB_TC: names in [nccl] begin with NCCL_; did you mean NCCL_IB_TC?"},
        Case{"worker.env = { RANK = \"1\" }", "worker.env.RANK: is set by osora for every rank"},
        Case{"worker.env = \"A=1\"",
             "worker.env = \"A=1\": expected a table of strings, found a string"},
        Case{"memory.recompte = \"full\"", "unknown key memory.recompte; did you mean recompute?"},
        Case{"train.lr = 1e-4", "unknown key train.lr; did you mean optim.lr?"},
        Case{"vae.frobnicate = 1",
             "unknown key vae.frobnicate; keys of [vae] are arch, weights, micro_batch_size, "
             "micro_frame_size, tile_sample_min_size"},
        Case{"steps = 7", "unknown key steps outside of a section; did you mean train.steps?"},
        Case{"optimizer.lr = 7", "unknown section [optimizer]; did you mean [optim]?"},
        Case{"parallel = 3", "parallel = 3: expected a section [parallel], found an integer"}));

TEST(RunFileErrors, AllAtOnceInTheOrderOfTheirLines) {
    auto const resolved = resolve(
        "[train]\nsteps = 0\nstep = 3\n[optim]\nlr = -1\n[zzz]\n[data]\nmanifest = 3\n"
        "[[bucket]]\nnum_frames = 0\n",
        {"train.seed=x", "nonsense"});
    EXPECT_THAT(
        texts(resolved.problems),
        ElementsAre(
            "run.toml:2: train.steps = 0: must be at least 1; nearest valid: 1",
            "run.toml:3: unknown key train.step; did you mean steps?",
            "run.toml:5: optim.lr = -1: must be above 0 and at most 1000",
            "run.toml:6: unknown section [zzz]; sections are run, resources, slurm, ssh, "
            "model, vae, vae_loss, vqvae, text, encode, score, data, eval, bucket, parallel, "
            "batch, memory, optim, train, tune, rehearse, checkpoint, nccl, worker, faults, "
            "probe, bisect, notify, daemon, debug, stage",
            "run.toml:8: data.manifest = 3: expected a string, found an integer; write \"3\"",
            "run.toml:9: bucket[0]: resolution is missing",
            "run.toml:10: bucket[0].num_frames = 0: must be between 1 and 65536; nearest "
            "valid: 1",
            "--set: train.seed = \"x\": expected an integer, found a string",
            "--set: nonsense: expected SECTION.KEY=VALUE, as in train.steps=100"));
}

TEST(RunFileErrors, SyntaxErrorsHaveLineAndColumn) {
    EXPECT_THAT(texts(resolve("[train]\nsteps = \n").problems),
                ElementsAre("run.toml:2:9: expected value, saw '\\n' (in a key-value pair)"));
    EXPECT_THAT(texts(resolve("[train]\nsteps = 1\nsteps = 2\n").problems),
                ElementsAre("run.toml:3:9: cannot redefine existing integer 'steps' (in a "
                            "key-value pair)"));
    EXPECT_THAT(texts(resolve("[run]\nname = \"\xff\xfe\"\n").problems),
                ElementsAre("run.toml:2:8: Encountered invalid utf-8 sequence"));
}

TEST(RunFileErrors, EmptyAndBinaryFiles) {
    EXPECT_THAT(texts(resolve(" \n").problems),
                ElementsAre("run.toml: empty; osora init writes a run file to start from"));
    EXPECT_THAT(texts(resolve(std::string("\x7f"
                                          "ELF\0\1",
                                          6))
                          .problems),
                ElementsAre("run.toml: not a text file: a zero byte at offset 4"));
}

TEST(RunFileErrors, BucketsAreLists) {
    EXPECT_THAT(
        texts(resolve("[data]\nmanifest = \"c\"\n[bucket]\nresolution = \"64\"\n").problems),
        ElementsAre("run.toml:3: bucket: expected a list of tables ([[bucket]] before "
                    "each), found a table"));
    EXPECT_THAT(problems_of_set("bucket[2].num_frames=4"),
                ElementsAre("--set: bucket[2]: there are 1 buckets, counted from 0"));
}

TEST(RunFileErrors, SetCannotSmuggleOtherKeysIn) {
    EXPECT_THAT(problems_of_set("train.steps=1\nseed = 2"),
                ElementsAre("--set: train.steps = \"1\\nseed = 2\": expected an integer, found a "
                            "string"));
}

TEST(RunFileErrors, DeepNestingEndsInAnErrorAndNotInACrash) {
    std::string const deep(100'000, '[');
    EXPECT_FALSE(problems_of_set("faults.exclude_nodes=" + deep).empty());
    EXPECT_FALSE(texts(resolve("x = " + deep).problems).empty());
}

}  // namespace
}  // namespace osora::plan
