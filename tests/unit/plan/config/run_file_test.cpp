#include "resolve.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(RunFile, ReadsEveryKindOfValue) {
    auto const resolved = resolve(R"(
[run]
name = "stage1"
[resources]
gpus_per_node = 2
[slurm]
prolog = [["module", "load", "cuda"]]
[data]
manifest = "clips.csv"
num_workers = 4
host_memory_gib = 8          # an integer is a number
[[bucket]]
resolution = "360p"
num_frames = 51
keep_prob = 0.5
[[bucket]]
resolution = 64              # plain numbers may be written without quotes
micro_batch_size = "auto"
[parallel]
tp_size = "auto"
overlap = false
[memory]
recompute = 4
[optim]
lr = 3e-4
grad_clip = "adaptive"
freeze = ["x", "y"]
[nccl]
NCCL_IB_TC = "106"
[worker]
env = { A = "line1\nline2", B = "ü" }
[bisect]
auto = "off"
)");
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    RunConfig const& config = resolved.config;
    EXPECT_EQ(config.run.name, "stage1");
    EXPECT_EQ(config.resources.gpus_per_node, 2);
    EXPECT_EQ(config.slurm.prolog,
              (std::vector<std::vector<std::string>>{{"module", "load", "cuda"}}));
    EXPECT_EQ(config.data.num_workers, AutoOr<int>(4));
    EXPECT_EQ(config.data.host_memory_gib, 8.0);
    ASSERT_EQ(config.bucket.size(), 2u);
    EXPECT_EQ(config.bucket[0].resolution, "360p");
    EXPECT_EQ(config.bucket[0].num_frames, 51);
    EXPECT_EQ(config.bucket[0].keep_prob, 0.5);
    EXPECT_EQ(config.bucket[1].resolution, "64");
    EXPECT_TRUE(config.bucket[1].micro_batch_size.is_auto());
    EXPECT_TRUE(config.parallel.tp_size.is_auto());
    EXPECT_FALSE(config.parallel.overlap);
    EXPECT_EQ(config.memory.recompute, AutoOr<std::string>("4"));
    EXPECT_EQ(config.optim.lr, 3e-4);
    EXPECT_TRUE(config.optim.grad_clip.is_auto());
    EXPECT_THAT(config.optim.freeze, ElementsAre("x", "y"));
    EXPECT_EQ(config.nccl.at("NCCL_IB_TC"), "106");
    EXPECT_EQ(config.worker.env.at("A"), "line1\nline2");
    EXPECT_EQ(config.bisect.auto_mode, "off");
    EXPECT_EQ(config.train.steps, RunConfig{}.train.steps);
    EXPECT_EQ(resolved.origins.at("resources.gpus_per_node").line, 5);
    EXPECT_EQ(resolved.origins.at("bucket[1].resolution").line, 17);
    EXPECT_EQ(resolved.origins.at("nccl.NCCL_IB_TC").line, 29);
    EXPECT_FALSE(resolved.origins.contains("train.steps"));
}

TEST(RunFile, LaterLayersWinAndOriginsSayWhich) {
    auto const resolved = resolve_config(
        {{Layer::site, "/etc/osora/config.toml",
          "[nccl]\nNCCL_IB_TC = \"106\"\nNCCL_DEBUG = \"WARN\"\n[train]\nsteps = 1\nseed = 1\n"},
         {Layer::user, "user.toml",
          "[train]\nsteps = 2\nseed = 2\n[[bucket]]\nresolution = \"32\"\n"},
         {Layer::run, "run.toml",
          std::string(kMinimal) + "[train]\nsteps = 3\n[nccl]\nNCCL_DEBUG = \"INFO\"\n"}},
        {"train.steps=4"});
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    EXPECT_EQ(resolved.config.train.steps, 4);
    EXPECT_EQ(resolved.config.train.seed, 2);
    EXPECT_EQ(resolved.config.nccl.at("NCCL_IB_TC"), "106");
    EXPECT_EQ(resolved.config.nccl.at("NCCL_DEBUG"), "INFO");
    ASSERT_EQ(resolved.config.bucket.size(), 1u);  // the run file's list replaces the user's
    EXPECT_EQ(resolved.config.bucket[0].resolution, "64");
    EXPECT_EQ(resolved.origins.at("train.steps").layer, Layer::command_line);
    EXPECT_EQ(resolved.origins.at("train.seed").layer, Layer::user);
    EXPECT_EQ(resolved.origins.at("train.seed").file, "user.toml");
    EXPECT_EQ(resolved.origins.at("nccl.NCCL_IB_TC").layer, Layer::site);
    EXPECT_EQ(resolved.origins.at("bucket[0].resolution").layer, Layer::run);
}

TEST(RunFile, SetsAreTypedByTheSchema) {
    auto const resolved = resolve(
        kMinimal, {"run.name=plain", "model.init=\"quoted.st\"", "train.steps=7", "optim.lr=1e-3",
                   "parallel.tp_size=auto", "parallel.overlap=false", "memory.recompute=full",
                   "faults.exclude_nodes=[\"n1\", \"n2\"]", "nccl.NCCL_IB_TC=106",
                   "faults.lost_after=30", "faults.lease=90.5", "faults.stacks_limit=20",
                   "faults.log_mib=64", "worker.env.PATH_LIKE=/a b:/c=d", "bucket[0].num_frames=16",
                   "batch={ min = 2, max = 8 }", "model.init=4", "optim.precision='fp32'"});
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    RunConfig const& config = resolved.config;
    EXPECT_EQ(config.run.name, "plain");
    EXPECT_EQ(config.model.init, "4");  // a string key takes the text unchanged
    EXPECT_EQ(config.train.steps, 7);
    EXPECT_EQ(config.optim.lr, 1e-3);
    EXPECT_FALSE(config.parallel.overlap);
    EXPECT_EQ(config.memory.recompute, AutoOr<std::string>("full"));
    EXPECT_THAT(config.faults.exclude_nodes, ElementsAre("n1", "n2"));
    EXPECT_EQ(config.faults.lost_after, 30);
    EXPECT_EQ(config.faults.stacks_limit, 20);
    EXPECT_EQ(config.faults.log_mib, 64);
    EXPECT_EQ(config.faults.lease, AutoOr<double>(90.5));
    EXPECT_EQ(config.nccl.at("NCCL_IB_TC"), "106");
    EXPECT_EQ(config.worker.env.at("PATH_LIKE"), "/a b:/c=d");
    EXPECT_EQ(config.bucket[0].num_frames, 16);
    EXPECT_EQ(config.batch.max, 8);
    EXPECT_EQ(config.optim.precision, "fp32");
    EXPECT_EQ(resolved.origins.at("bucket[0].num_frames").layer, Layer::command_line);
    EXPECT_EQ(resolved.origins.at("bucket[0].resolution").layer, Layer::run);
}

TEST(RunFile, SetReplacesTheBuckets) {
    auto const resolved =
        resolve(kMinimal, {"bucket=[{resolution = \"32\"}, {resolution = 48, num_frames = 4}]"});
    EXPECT_THAT(texts(resolved.problems), IsEmpty());
    ASSERT_EQ(resolved.config.bucket.size(), 2u);
    EXPECT_EQ(resolved.config.bucket[1].resolution, "48");
}

}  // namespace
}  // namespace osora::plan
