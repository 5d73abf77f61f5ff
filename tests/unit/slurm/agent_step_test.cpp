#include "slurm/agent_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

AgentStep step() {
    return {.job_id = "12",
            .hosts = {"n0", "n1"},
            .osorad = "/opt/osora/bin/osorad",
            .run_dir = "/shared/50%/demo-0001",
            .container = "",
            .log_name = "agent-%n.log"};
}

std::vector<std::string> tail(std::vector<std::string> const& words, std::size_t count) {
    return {words.end() - static_cast<std::ptrdiff_t>(count), words.end()};
}

TEST(AgentStep, OneTaskANodeThatOutlivesItsPeers) {
    auto const words = srun_arguments(step());
    EXPECT_THAT(tail(words, 2), ElementsAre("/opt/osora/bin/osorad", "agent"));
    for (char const* word :
         {"--jobid=12", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--nodelist=n0,n1",
          "--overlap", "--mpi=none", "--export=ALL", "--kill-on-bad-exit=0", "--wait=0",
          "--no-kill", "--gpu-bind=none", "--output=/shared/50%%/demo-0001/agent-%n.log"}) {
        EXPECT_THAT(words, Contains(word));
    }
}

TEST(AgentStep, Containers) {
    auto asked = step();
    asked.container = "/images/train.sif";
    EXPECT_THAT(tail(srun_arguments(asked), 10),
                ElementsAre("apptainer", "exec", "--nv", "--bind", "/opt/osora/bin", "--bind",
                            "/shared/50%/demo-0001", "/images/train.sif", "/opt/osora/bin/osorad",
                            "agent"));
    asked.container = "nvcr.io#nvidia/pytorch:25.01";
    EXPECT_THAT(srun_arguments(asked), Contains("--container-image=nvcr.io#nvidia/pytorch:25.01"));
    EXPECT_THAT(srun_arguments(asked), Contains("--container-mounts=/opt/osora/bin:/opt/osora/bin,"
                                                "/shared/50%/demo-0001:/shared/50%/demo-0001"));
}

TEST(AgentStep, TheJobsShapeIsNotTheSteps) {
    Environment environment{
        "SLURM_JOB_ID=12",      "SLURM_NTASKS=4",       "SLURM_EXPORT_ENV=NIL",
        "SLURM_CPU_BIND=quiet", "SLURM_CONF=/x",        "SLURM_NODEID=0",
        "A=SLURM_NTASKS=4",     "SLURM_STEP_ID=3",      "SLURM_TASKS_PER_NODE=1",
        "SRUN_CPUS_PER_TASK=2", "SLURM_GPUS_PER_NODE=8"};
    remove_step_shape(environment);
    EXPECT_THAT(environment, ElementsAre("SLURM_JOB_ID=12", "SLURM_CONF=/x", "SLURM_NODEID=0",
                                         "A=SLURM_NTASKS=4", "SLURM_GPUS_PER_NODE=8"));
    EXPECT_THAT(remote_command_arguments("12", "n3", {"/bin/true"}), Contains("--nodelist=n3"));
    EXPECT_THAT(remote_command_arguments("12", "n3", {"/bin/true"}), Not(Contains("--no-kill")));
}

}  // namespace
}  // namespace osora::slurm
