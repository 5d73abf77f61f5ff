// Fixtures in tests/data/slurm (its README says where each is from).
#include "slurm/queue_text.hpp"

#include "base/files/files.hpp"
#include "tests/unit/slurm/fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Queue, TextOfEveryVersion) {
    auto const jobs = parse_queue(fixture("squeue.txt"));
    ASSERT_TRUE(jobs.has_value()) << jobs.error().message;
    ASSERT_THAT(*jobs, SizeIs(7));
    QueuedJob const& waiting = (*jobs)[0];
    EXPECT_EQ(waiting.job_id, 881203);
    EXPECT_EQ(waiting.state, JobState::pending);
    EXPECT_EQ(waiting.reason, "Priority");
    EXPECT_EQ(waiting.start_time, 1795357200);  // date -u -d 2026-11-22T14:20:00 +%s
    EXPECT_EQ(waiting.time_limit_s, 86400);
    EXPECT_EQ(waiting.nodes, 16);
    EXPECT_EQ(waiting.name, "stage1-0042");
    EXPECT_EQ((*jobs)[1].state, JobState::running);
    EXPECT_EQ((*jobs)[1].node_list, "n[0-3]");
    EXPECT_FALSE((*jobs)[1].time_limit_s);
    EXPECT_EQ((*jobs)[2].array_job_id, 900);
    EXPECT_EQ((*jobs)[2].array_task, "3");
    EXPECT_EQ((*jobs)[2].job_id, 903);
    EXPECT_EQ((*jobs)[3].array_task, "4-7%2");
    EXPECT_EQ((*jobs)[3].job_id, 900);
    EXPECT_EQ((*jobs)[4].state, JobState::node_fail);
    EXPECT_EQ((*jobs)[5].name, "a|b|c");
    EXPECT_EQ((*jobs)[6].state, JobState::unknown);  // an unknown state is not an end
    EXPECT_THAT(parse_queue("").value(), IsEmpty());
    auto const error = parse_queue("slurm_load_jobs error: Unable to contact slurm controller\n");
    ASSERT_TRUE(error.has_error());
    EXPECT_THAT(error.error().message, HasSubstr("Unable to contact"));
}

TEST(Queue, StateWords) {
    EXPECT_EQ(parse_job_state("CANCELLED by 1000"), JobState::cancelled);
    EXPECT_EQ(parse_job_state("CANCELLED+"), JobState::cancelled);
    EXPECT_EQ(parse_job_state("OUT_OF_MEMORY"), JobState::out_of_memory);
    EXPECT_EQ(parse_job_state("COMPLETING"), JobState::completing);
    EXPECT_FALSE(is_final(parse_job_state("COMPLETING")));
    EXPECT_FALSE(is_final(parse_job_state("")));
    EXPECT_TRUE(is_final(parse_job_state("PREEMPTED")));
}

TEST(Queue, OneCallForAllJobsOfAUser) {
    EXPECT_THAT(squeue_arguments("1000"),
                testing::ElementsAre("--noheader", "--states=all", "--user=1000", "--array",
                                     "--format=%A|%F|%K|%T|%V|%S|%e|%l|%D|%r|%N|%j"));
}

}  // namespace
}  // namespace osora::slurm
