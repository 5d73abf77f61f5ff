// A run that must leave its nodes continues elsewhere, from a checkpoint: real time limits, real
// preemption, and a cluster whose nodes may not submit.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

#include <fstream>

namespace osora::cluster {
namespace {

using testing::HasSubstr;
using testing::Not;

class SlurmLeaving : public SlurmTest {
protected:
    static void SetUpTestSuite() {
        open({.nodes = 4,
              .slurm_conf = {"PreemptType=preempt/partition_prio", "PreemptMode=CANCEL",
                             "PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=CANCEL "
                             "GraceTime=30",
                             "PartitionName=high Nodes=ALL PriorityTier=9 PreemptMode=OFF"}});
    }
    [[nodiscard]] bool has_checkpoint() const {
        return eventually([this] { return !events<protocol::CheckpointCompleted>().empty(); }, 30);
    }
    /// The last ranks began at a checkpoint.
    void expect_continued() const {
        auto const started = events<protocol::RankStarted>();
        ASSERT_FALSE(started.empty());
        EXPECT_GE(started.back().start_step, events<protocol::CheckpointCompleted>().front().step);
    }
};

TEST_F(SlurmLeaving, APreemptedRunSavesAndComesBack) {
    write_run_file(
        {.nodes = 4, .ranks = 2, .steps = 600, .more = "[slurm]\npartition = \"low\"\n"});
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   8 ranks", 60)) << running.out() << logs();
    ASSERT_TRUE(has_checkpoint());
    auto const urgent = bed().run("ctl", {"sbatch", "-N4", "--partition=high", "--wrap=sleep 2"});
    ASSERT_EQ(urgent.code, 0) << urgent.err;
    auto const ended = running.wait(120);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("stopping after this step: Slurm asked the job to end"));
    EXPECT_THAT(ended.out, HasSubstr("follows"));
    EXPECT_THAT(logs(), HasSubstr("the job is preempted"));
    EXPECT_THAT(events<protocol::RankFailed>(), testing::IsEmpty());
    EXPECT_THAT(ended.out, HasSubstr("\ndone     600 steps"));
    expect_continued();
    EXPECT_TRUE(nothing_left());
}

TEST_F(SlurmLeaving, WhereNodesMayNotSubmitTheJobIsRequeued) {
    auto const folder = folder_ / "bin";
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "sbatch") << "#!/bin/sh\n[ \"$(uname -n)\" = ctl ] && exec "
                                        "/usr/bin/sbatch \"$@\"\n"
                                        "echo 'sbatch: error: not from a node' >&2; exit 1\n";
    std::filesystem::permissions(folder / "sbatch", std::filesystem::perms::owner_all);
    auto const path = variable_or(bed().environment(), "PATH", "");
    set_variable(bed().environment(), "PATH", folder.string() + ":" + path);
    write_run_file({.nodes = 2, .ranks = 2, .steps = 300});
    auto running = start({"submit", "run.toml"});
    set_variable(bed().environment(), "PATH", path);
    ASSERT_TRUE(running.says("launch   4 ranks", 60)) << running.out() << logs();
    ASSERT_TRUE(has_checkpoint());
    auto const warned =
        bed().run("ctl", {"scancel", "--batch", "--signal=USR2", "--name=demo-0001"});
    EXPECT_EQ(warned.code, 0) << warned.err;
    auto const ended = running.wait(120);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("\ndone     300 steps"));
    EXPECT_THAT(ended.out, HasSubstr("is requeued"));
    expect_continued();
    EXPECT_TRUE(nothing_left());
}

TEST_F(SlurmLeaving, TheTimeLimitOfAJobIsNotTheEndOfARun) {
    write_run_file({.nodes = 2, .ranks = 2, .steps = 9000});
    auto const text = content_of(folder_ / "run.toml");
    auto const at = text.find("00:10:00");
    std::ofstream(folder_ / "run.toml") << text.substr(0, at) << "00:02:00" << text.substr(at + 8);
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks", 60)) << running.out() << logs();
    ASSERT_EQ(osora({"submit", "run.toml", "--after", "1", "--detach"}).code, 0);
    auto const ended = running.wait(400);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("the job's time is nearly over"));
    EXPECT_THAT(ended.out, HasSubstr("\ndone     9,000 steps"));
    EXPECT_THAT(ended.out, Not(HasSubstr("relaunch")));
    expect_continued();
    // A run that waits for the run now waits for the job that followed.
    EXPECT_THAT(logs(), Not(HasSubstr("does not wait for it")));
    auto const stage = [this] { return !run("demo-0002").events<protocol::RankStarted>().empty(); };
    EXPECT_TRUE(eventually(stage, 30)) << bed().run("ctl", {"squeue"}).out;
    EXPECT_EQ(osora({"cancel", "2"}).code, 0);
}

}  // namespace
}  // namespace osora::cluster
