// Jobs whose number sbatch has not printed, and jobs that are held or do not start.
#include "slurm/after_sbatch.hpp"

#include "slurm/queue_text.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::slurm {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

QueuedJob job(std::int64_t id, std::string name, std::int64_t submitted,
              JobState state = JobState::pending, std::string reason = "") {
    QueuedJob made;
    made.job_id = id;
    made.name = std::move(name);
    made.submit_time = submitted;
    made.state = state;
    made.reason = std::move(reason);
    return made;
}

TEST(AfterSbatch, MessagesThatAreNoRefusal) {
    for (char const* words :
         {"sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
          "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect "
          "failure)",
          "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
          "sbatch: no answer within 20 s",
          "Slurm controller not responding, sleeping and retrying"}) {
        EXPECT_TRUE(may_have_been_taken(words)) << words;
    }
    for (char const* words :
         {"sbatch: error: invalid partition specified: gpux",
          "sbatch: unrecognized option '--parsable' Try \"sbatch --help\" for more information",
          "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or "
          "exceeds some limit)",
          "sbatch: error: QOSMaxSubmitJobPerUserLimit"}) {
        EXPECT_FALSE(may_have_been_taken(words)) << words;
    }
}

TEST(AfterSbatch, TheJobIsFoundByItsName) {
    std::vector<QueuedJob> const queue{
        job(7, "mine-0001", 500), job(8, "mine-0001", 990), job(9, "other-0001", 1000),
        job(6, "mine-0001", 1000, JobState::failed), job(5, "mine-0001", 100, JobState::cancelled)};
    auto const found = jobs_of_name(queue, "mine-0001", 1000);
    ASSERT_THAT(found.ours, SizeIs(1));
    EXPECT_EQ(found.ours[0].job_id, 8);
    ASSERT_THAT(found.others, SizeIs(1));
    EXPECT_EQ(found.others[0].job_id, 7) << "of another folder of runs";
}

TEST(AfterSbatch, TheClusterThatTheOptionsName) {
    EXPECT_EQ(cluster_asked_for({"--mem=0", "--clusters=north"}), "north");
    EXPECT_EQ(cluster_asked_for({"-M", "north"}), "north");
    EXPECT_EQ(cluster_asked_for({"-Mnorth"}), "north");
    EXPECT_EQ(cluster_asked_for({"-M north"}), "north");
    EXPECT_EQ(cluster_asked_for({"--cluster=a,b"}), "a,b");
    EXPECT_EQ(cluster_asked_for({"--mem=0", "--cluster-constraint=x"}), "");
    EXPECT_EQ(cluster_asked_for({}), "");
    EXPECT_TRUE(is_one_cluster("north"));
    EXPECT_FALSE(is_one_cluster("a,b"));
    EXPECT_FALSE(is_one_cluster("all"));
    EXPECT_FALSE(is_one_cluster(""));
}

TEST(AfterSbatch, AHeldJobSaysWhatReleasesIt) {
    auto const text = [](char const* reason, char const* cluster = "") {
        return reason_text(job(80634, "x", 0, JobState::pending, reason), cluster);
    };
    EXPECT_EQ(text("launch failed requeued held"),
              " (held: launch failed requeued held; it does not start by itself: scontrol release "
              "80634)");
    EXPECT_THAT(text("job requeued in held state", "north"),
                HasSubstr("scontrol --clusters=north release 80634"));
    EXPECT_THAT(text("JobHeldUser"), HasSubstr(": scontrol release 80634)"));
    EXPECT_THAT(text("JobHeldAdmin"), HasSubstr("ask an administrator"));
    EXPECT_THAT(text("JobHoldMaxRequeue"), HasSubstr("(held: JobHoldMaxRequeue; "));
    EXPECT_EQ(text("Priority"), " (Priority)");
    EXPECT_EQ(text("Nodes required for job are DOWN, DRAINED or reserved for jobs in higher "
                   "priority partitions"),
              " (Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority "
              "partitions)");
    EXPECT_EQ(text(""), "");
    EXPECT_FALSE(is_held(job(1, "x", 0, JobState::running, "launch failed requeued held")));
}

TEST(AfterSbatch, AJobThatWaitingDoesNotStartSaysWhy) {
    // desihub/desispec issue 2682, SckyzO/slurm_exporter pull request 169, BSC-ES/autosubmit issue
    // 308, outerloop-science/outerloop pull request 304 (which reasons are only a wait)
    auto const text = [](char const* reason, JobState state = JobState::pending) {
        return reason_text(job(80634, "x", 0, state, reason), "");
    };
    EXPECT_EQ(
        text("PartitionTimeLimit"),
        " (PartitionTimeLimit: it does not start as it is: resources.time_limit is longer than "
        "the partition allows; cancel it and submit it anew)");
    for (char const* reason : {"DependencyNeverSatisfied", "BadConstraints", "InvalidAccount",
                               "InvalidQOS", "QOSMaxWallDurationPerJobLimit"}) {
        EXPECT_THAT(text(reason), HasSubstr("does not start as it is")) << reason;
    }
    for (char const* reason :
         {"Priority", "Resources", "Dependency", "PartitionNodeLimit", "QOSMaxGRESPerUser",
          "AssocGrpGRESMinutes", "PartitionDown", "ReqNodeNotAvail, UnavailableNodes:gpu[01-04]"}) {
        EXPECT_EQ(text(reason), fmt::format(" ({})", reason));
    }
    EXPECT_EQ(text("PartitionTimeLimit", JobState::running), " (PartitionTimeLimit)");
}

TEST(QueueText, SilenceWithTextOnStderrIsNoAnswer) {
    std::string const words = "slurm_load_jobs error: Socket timed out on send/recv operation\n";
    EXPECT_TRUE(is_no_answer("", words));
    EXPECT_TRUE(is_no_answer("CLUSTER: amarel\n", words));
    EXPECT_TRUE(is_no_answer("\n", words));
    EXPECT_FALSE(is_no_answer("", ""));
    EXPECT_FALSE(is_no_answer("", " \n"));
    EXPECT_FALSE(is_no_answer("80634|80634|N/A|PENDING|N/A|N/A|N/A|10:00|1|Priority||mine\n",
                              "squeue: warning: old\n"));
    EXPECT_TRUE(parse_queue("CLUSTER: amarel\n").has_error());
}

TEST(QueueText, QueriesTheRecordedCluster) {
    EXPECT_THAT(squeue_arguments("me", "north"), testing::Contains("--clusters=north"));
    EXPECT_THAT(squeue_arguments("me"), testing::Not(testing::Contains(HasSubstr("--clusters"))));
}

}  // namespace
}  // namespace osora::slurm
