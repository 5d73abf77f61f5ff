// Fixtures in tests/data/slurm (its README says where each is from).
#include "slurm/job_facts.hpp"

#include "base/files/files.hpp"
#include "tests/unit/slurm/fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JobFacts, SubmittedJobs) {
    EXPECT_EQ(parse_submitted("881203\n").value(), (JobKey{"", 881203, 0, ""}));
    EXPECT_EQ(parse_submitted("sbatch: warning: fair share\n12;north\n").value(),
              (JobKey{"north", 12, 0, ""}));
    EXPECT_TRUE(parse_submitted("").has_error());
    EXPECT_THAT(parse_submitted("welcome\n").error().message, HasSubstr("and no job id"));
}

TEST(JobFacts, SubmittedAmongBannersAndTables) {
    EXPECT_EQ(parse_submitted("Submitted batch job 12\n").value(), (JobKey{"", 12, 0, ""}));
    EXPECT_EQ(parse_submitted("Submitted batch job 60060368 on cluster slaking\n").value(),
              (JobKey{"slaking", 60060368, 0, ""}));
    EXPECT_EQ(parse_submitted("75168975;clustername\r\n").value(),
              (JobKey{"clustername", 75168975, 0, ""}));
    EXPECT_EQ(parse_submitted("\n-----------\n  Welcome to the Stampede3 Supercomputer\n------\n"
                              "--> Verifying that quota for filesystem /scratch/01234/user is at "
                              "21.53% allocated...OK\nSubmitted batch job 519605\n")
                  .value()
                  .job_id,
              519605);
    EXPECT_EQ(parse_submitted("Submitted batch job 716391\nestimates job cost\n"
                              "2\n+-----+-----+\n| 100 | 64 |\n+-----+-----+\n12\n")
                  .value()
                  .job_id,
              716391)
        << "numbers of the table are none";
    EXPECT_EQ(parse_submitted("* 3 nodes asked for\n881203\n").value().job_id, 881203);
    EXPECT_EQ(parse_submitted("Your job 4711 has been submitted.\n").value().job_id, 4711);
    EXPECT_EQ(parse_submitted("881203\n881203\n").value().job_id, 881203);
    EXPECT_THAT(parse_submitted("12\n15\n").error().message, HasSubstr("12 and 15"));
    EXPECT_TRUE(parse_submitted("0\n").has_error());
    EXPECT_TRUE(parse_submitted("Job 12 on 4 nodes submitted\n").has_error());
}

TEST(JobFacts, EstimatedStart) {
    auto const estimate = parse_test_only(
        "sbatch: Job 13 to start at 2026-11-22T14:20:00 using 32 processors on nodes n[0-3] in "
        "partition gpu\n");
    ASSERT_TRUE(estimate.has_value());
    EXPECT_EQ(estimate->start_time, 1795357200);
    EXPECT_EQ(estimate->node_list, "n[0-3]");
    EXPECT_EQ(estimate->partition, "gpu");
    auto const old = parse_test_only(
        "sbatch: Job 13 to start at 2026-11-22T14:20:00 using 32 processors on n[0-3]\n");
    EXPECT_EQ(old.value().node_list, "n[0-3]");
    auto const refused = parse_test_only(
        "sbatch: error: invalid partition specified: gpux\n"
        "allocation failure: Invalid partition name specified\n");
    EXPECT_EQ(refused.error().message,
              "invalid partition specified: gpux; allocation failure: Invalid partition name "
              "specified");
}

TEST(JobFacts, ShowJob) {
    auto const job = job_of_fields(parse_job_fields(fixture("job_22.05.txt")));
    ASSERT_TRUE(job);
    EXPECT_EQ(job->job_id, 12);
    EXPECT_EQ(job->name, "stage1 JobState=FAILED");  // a name is no field
    EXPECT_EQ(job->state, JobState::running);
    EXPECT_EQ(job->time_limit_s, 86400);
    EXPECT_EQ(job->submit_time, 1795348800);
    EXPECT_EQ(job->nodes, 4);
    EXPECT_EQ(job->node_list, "n[0-3]");
    auto const fields = parse_job_fields(fixture("job_22.05.txt"));
    EXPECT_EQ(fields.at("Restarts"), "1");
    EXPECT_EQ(fields.at("StdOut"), "/home/a user/job-12.log");
    EXPECT_EQ(fields.at("CPUs/Task"), "N/A");

    auto const waiting = job_of_fields(parse_job_fields(fixture("job_24.11.txt")));
    ASSERT_TRUE(waiting);
    EXPECT_EQ(waiting->array_job_id, 900);
    EXPECT_EQ(waiting->array_task, "3");
    EXPECT_THAT(waiting->reason, HasSubstr("reserved for jobs in higher priority partitions"));
    EXPECT_FALSE(waiting->start_time);
    EXPECT_EQ(waiting->nodes, 4);
    EXPECT_FALSE(job_of_fields(parse_job_fields("slurm_load_jobs error: Invalid job id\n")));
}

TEST(JobFacts, APreemptedJobDiffersFromACancelledOne) {
    auto fields = parse_job_fields(fixture("job_22.05.txt"));
    EXPECT_FALSE(was_preempted(fields));
    for (auto const* none : {"None", "N/A", "Unknown", ""}) {
        fields["PreemptTime"] = none;
        EXPECT_FALSE(was_preempted(fields)) << none;
    }
    fields["PreemptTime"] = "2026-11-22T06:07:01";
    EXPECT_TRUE(was_preempted(fields));
    fields["JobState"] = "CANCELLED";
    EXPECT_FALSE(was_preempted(fields));
}

TEST(JobFacts, Config) {
    auto const bed = parse_config(fixture("config_22.05.txt"));
    EXPECT_EQ(bed.cluster, "bed");
    EXPECT_EQ(bed.version, "22.05.8");
    EXPECT_EQ(bed.kill_wait_s, 2);
    EXPECT_EQ(bed.requeue_hold_s, 5);
    EXPECT_EQ(bed.node_down_s, 10);
    EXPECT_THAT(bed.requeue_exit, ElementsAre(99));
    EXPECT_FALSE(bed.preempt_sends_signal);
    auto const big = parse_config(fixture("config_25.11.txt"));
    EXPECT_EQ(big.requeue_hold_s, 10);
    EXPECT_THAT(big.requeue_exit, ElementsAre(99, 121, 122, 123));
    EXPECT_TRUE(big.preempt_sends_signal);
    EXPECT_EQ(big.preempt_mode, "REQUEUE");
    EXPECT_EQ(parse_config("").requeue_hold_s, 120);
}

}  // namespace
}  // namespace osora::slurm
