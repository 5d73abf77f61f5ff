#include "daemon/node/rank_binding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Two sockets of two cores, two GPUs at each.
NodeCores node() {
    NodeCores made;
    for (int cpu = 0; cpu < 4; ++cpu) made.cores.push_back({{cpu}, cpu / 2, cpu / 2});
    for (int gpu = 0; gpu < 4; ++gpu) {
        std::vector<int> const near = gpu < 2 ? std::vector{0, 1} : std::vector{2, 3};
        made.gpus.push_back({std::to_string(gpu), "GPU-" + std::to_string(gpu), near});
    }
    return made;
}

auto bound(Environment const& environment, int ranks, plan::WorkerJob const& job = {}) {
    return bind_workers(node(), job, environment, ranks).cpus;
}

TEST(RankBinding, FollowsTheGpusThatTheRanksSee) {
    EXPECT_THAT(bound({}, 2), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)))
        << "both at one socket: half of it, and the share's rest from the other";
    EXPECT_THAT(bound({"CUDA_VISIBLE_DEVICES=3,0"}, 2),
                ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1)));
    EXPECT_THAT(bound({"CUDA_VISIBLE_DEVICES=0,1", "SLURM_STEP_GPUS=2,1"}, 2),
                ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1)));
}

TEST(RankBinding, CpuRanksAreBoundOnlyWhenAsked) {
    auto const unasked = bind_workers(node(), {}, {"CUDA_VISIBLE_DEVICES="}, 2);
    EXPECT_THAT(unasked.cpus, IsEmpty());
    EXPECT_EQ(unasked.reason, "");
    plan::WorkerJob job;
    job.config.resources.bind_cpus = "always";
    EXPECT_THAT(bound({"CUDA_VISIBLE_DEVICES="}, 2, job),
                ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(RankBinding, TheRunFilesVariablesCount) {
    plan::WorkerJob job;
    job.config.worker.env = {{"CUDA_VISIBLE_DEVICES", "3,0"}};
    EXPECT_THAT(bound({"CUDA_VISIBLE_DEVICES=0,3"}, 2, job),
                ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1)));
}

TEST(RankBinding, AProgramThatMayTakeSeveralGpusIsNotDrawnToTheFirst) {
    plan::WorkerJob job;
    job.config.run.job = "exec";
    job.config.resources.cpus_per_worker = 1;
    EXPECT_THAT(bound({}, 1, job), IsEmpty());
    job.config.resources.bind_cpus = "always";
    EXPECT_THAT(bound({}, 1, job), ElementsAre(ElementsAre(0, 1, 2, 3)));
    job.config.run.job = "train";
    EXPECT_THAT(bound({}, 1, job), ElementsAre(ElementsAre(0, 1)));
}

TEST(RankBinding, PromisedCpusThatAreNotThereBindNothing) {
    plan::WorkerJob job;
    job.config.resources.cpus_per_worker = 3;
    auto const binding = bind_workers(node(), job, {}, 2);
    EXPECT_THAT(binding.cpus, IsEmpty());
    EXPECT_EQ(binding.reason, "3 CPUs for each of 2 ranks, 4 CPUs");
    job.config.resources.bind_cpus = "always";
    EXPECT_EQ(bind_workers(node(), job, {}, 5).reason, "5 ranks, 4 cores");
}

}  // namespace
}  // namespace osora::daemon
