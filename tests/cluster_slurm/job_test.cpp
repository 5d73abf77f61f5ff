// Events of the job: it waits, is cancelled, is warned, is refused.
#include "tests/cluster_slurm/slurm_fixture.hpp"

#include <fmt/format.h>

namespace osora::cluster {
namespace {

using testing::HasSubstr;

class SlurmJob : public SlurmTest {};

TEST_F(SlurmJob, CancelledFromAnotherMachineWithACheckpoint) {
    write_run_file({.nodes = 2, .ranks = 2, .steps = 100'000});
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks")) << running.out() << logs();
    ASSERT_TRUE(eventually([this] { return !events<protocol::CheckpointCompleted>().empty(); }));
    auto const cancelled = osora({"cancel", "1"});
    EXPECT_EQ(cancelled.code, 0) << cancelled.out << cancelled.err;
    EXPECT_THAT(cancelled.out, HasSubstr("stopped, checkpoint "));
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 130) << ended.out;
    EXPECT_TRUE(nothing_left());
    // And it continues in a job of its own.
    auto resumed = start({"resume", "1"});
    ASSERT_TRUE(resumed.says("4 ranks running again")) << resumed.out() << logs();
    resumed.signal(SIGINT);
    EXPECT_EQ(resumed.wait().code, 130);
    EXPECT_TRUE(nothing_left());
}

TEST_F(SlurmJob, TakenOutOfTheQueueWhileItWaits) {
    auto const filler = bed().run(
        "ctl", {"sbatch", "--nodes=5", "--exclusive", "--output=/dev/null", "--wrap=sleep 1000"});
    ASSERT_EQ(filler.code, 0) << filler.err;
    write_run_file({.nodes = 2, .ranks = 2});
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("queued")) << running.out();
    EXPECT_THAT(osora({"cancel", "1"}).out, HasSubstr("was taken out of the queue"));
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 4) << ended.out;
    EXPECT_THAT(ended.out, HasSubstr("has ended: cancelled"));
    auto second = start({"submit", "run.toml"});
    ASSERT_TRUE(second.says("queued")) << second.out();
    second.signal(SIGINT);
    auto const left = second.wait();
    EXPECT_EQ(left.code, 130);
    EXPECT_THAT(left.out, HasSubstr("taken out of the queue; nothing has run"));
}

TEST_F(SlurmJob, ARefusedJobLeavesNothing) {
    write_run_file({.nodes = 2, .ranks = 2, .more = "[slurm]\npartition = \"nowhere\"\n"});
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.err, HasSubstr("invalid partition specified: nowhere"));
    EXPECT_FALSE(std::filesystem::exists(run_dir()));
    auto const dry = osora({"submit", "run.toml", "--dry-run"});
    EXPECT_THAT(dry.out, HasSubstr("start    not known: invalid partition specified: nowhere"));
}

TEST_F(SlurmJob, WarnedBeforeItsTimeIsOverItContinuesInAnotherJob) {
    write_run_file({.nodes = 2, .ranks = 2, .steps = 300, .hold_at = 20});
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks")) << running.out() << logs();
    // Then no rank of the next job waits at the held step.
    ASSERT_TRUE(eventually([this] {
        auto const saved = events<protocol::CheckpointCompleted>();
        return !saved.empty() && saved.back().step >= 20;
    }));
    // As with --signal=B:USR2@60.
    auto const warned =
        bed().run("ctl", {"scancel", "--batch", "--signal=USR2", "--name=demo-0001"});
    EXPECT_EQ(warned.code, 0) << warned.err;
    auto const ended = running.wait(2 * tests::kPatience_s);
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << logs();
    EXPECT_THAT(ended.out, HasSubstr("the job's time is nearly over"));
    EXPECT_THAT(ended.out, HasSubstr("follows"));
    EXPECT_THAT(ended.out, HasSubstr("\ndone     300 steps"));
    auto const first = events<protocol::CheckpointCompleted>().front();
    auto const started = events<protocol::RankStarted>();
    EXPECT_GE(started.back().start_step, first.step);
}

}  // namespace
}  // namespace osora::cluster
