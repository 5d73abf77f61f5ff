// Lines as srun 22.05.8 prints them.
#include "slurm/step_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(StepOutput, EndsOfTasks) {
    auto const ended = [](std::string_view line) { return parse_step_line(line).ended; };
    EXPECT_THAT(ended("srun: error: n2: task 2: Killed\n"), ElementsAre(TaskEnd{{2}, 0, 9}));
    EXPECT_THAT(ended("srun: error: n[0-1]: tasks 0-1: Exited with exit code 3"),
                ElementsAre(TaskEnd{{0, 1}, 3, 0}));
    EXPECT_THAT(ended("srun: error: n[0-2,5]: tasks 0-2,5: Segmentation fault (core dumped)"),
                ElementsAre(TaskEnd{{0, 1, 2, 5}, 0, 11}));
    EXPECT_THAT(ended("srun: n1: task 1: Completed"), ElementsAre(TaskEnd{{1}, 0, 0}));
    EXPECT_THAT(ended("srun: error: n3: task 3: Terminated"), ElementsAre(TaskEnd{{3}, 0, 15}));
}

TEST(StepOutput, WhatSaysNothingOfTheKind) {
    for (char const* line :
         {"", "srun: job 12 queued and waiting for resources", "task 3: Killed",
          "srun: error: n2: task x: Killed",
          "srun: error: n2: task 2: ", "srun: n2: task 2: running",
          "srun: error: n2: task 999999999999: Killed", "srun: error: tasks 0-99999999: Killed"}) {
        EXPECT_THAT(parse_step_line(line).ended, IsEmpty()) << line;
        EXPECT_THAT(parse_step_line(line).nodes_lost, IsEmpty()) << line;
    }
}

TEST(StepOutput, NodesAndReasons) {
    EXPECT_THAT(parse_step_line("srun: error: Node failure on n[3-4]").nodes_lost,
                ElementsAre("n3", "n4"));
    EXPECT_THAT(parse_step_line("srun: error: Task launch for StepId=13.0 failed on node n2: "
                                "Communication connection failure")
                    .nodes_lost,
                ElementsAre("n2"));
    EXPECT_EQ(first_error("srun: Job step creation temporarily disabled, retrying\n"
                          "srun: error: Unable to create step for job 9: Invalid node name\nx"),
              "Unable to create step for job 9: Invalid node name");
    EXPECT_EQ(first_error(""), "");
    EXPECT_TRUE(
        blames_host("Task launch for StepId=13.0 failed on node n2: Communication "
                    "connection failure"));
    EXPECT_TRUE(
        blames_host("Unable to create step for job 9: Required node not available (down, "
                    "drained or reserved) is DOWN"));
    EXPECT_FALSE(blames_host("Slurm job 11 has expired"));
    EXPECT_FALSE(
        blames_host("Unable to confirm allocation for job 11: Unable to contact slurm "
                    "controller (connect failure)"));
}

}  // namespace
}  // namespace osora::slurm
