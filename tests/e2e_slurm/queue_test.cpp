// osora submit with scripts in place of a queue: the job script runs as Slurm would run it, with
// almost no environment.
#include "tests/e2e_slurm/slurm_fixture.hpp"

#include "base/files/files.hpp"

#include <chrono>
#include <csignal>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Queue : public SlurmCli {
protected:
    static int parent_of(int pid) {
        auto const stat = tests::content_of("/proc/" + std::to_string(pid) + "/stat");
        return stat.empty() ? 0 : std::atoi(stat.c_str() + stat.rfind(')') + 4);
    }
    /// Whether the checkpoint before this step, or a later one, is complete.
    bool is_saved(int step) {
        auto const saved = events<protocol::CheckpointCompleted>();
        return !saved.empty() && saved.back().step >= step;
    }
};

TEST_F(Queue, SubmittedFollowedAndWhatDryRunShowed) {
    write_slurm_file(40, "nodes = 3\ntime_limit = \"00:10:00\"\n",
                     "[slurm]\nprolog = [[\"export\", \"FROM_PROLOG=it's \\\"me\\\"\"]]\n"
                     "[worker]\nenv = { OSORA_MOCK_PRINT = \"1\" }\n");
    auto const dry = osora({"submit", "run.toml", "--dry-run"});
    EXPECT_EQ(dry.code, 0) << dry.err;
    EXPECT_THAT(dry.out, HasSubstr("cost     at most 1.0 GPU-h"));
    EXPECT_THAT(dry.out, HasSubstr("start    estimated 2026-11-22 "));
    set_variable(environment_, "ODD", "a,b\n'\"$HOME\xff");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << log();
    EXPECT_THAT(ended.out, HasSubstr("slurm    job 101 submitted\n"));
    EXPECT_THAT(ended.out, HasSubstr("\nlaunch   6 ranks in "));
    auto const script = read_file(run_dir("demo-0001") / "job.sh");
    ASSERT_TRUE(script.has_value());
    EXPECT_THAT(dry.out, HasSubstr("given to sbatch:\n\n" + *script + "\n"));
    EXPECT_THAT(*script, testing::Not(HasSubstr("ODD")));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(Queue, AJobThatWaitsIsTakenOutOfTheQueue) {
    write("queue/hold", "");
    write_slurm_file(40, "nodes = 2\n");
    auto first = start({"submit", "run.toml"});
    ASSERT_TRUE(first.says("job 101 queued (Resources)")) << first.out();
    auto const relaunch = osora({"relaunch", "1"});
    EXPECT_EQ(relaunch.code, 2);
    EXPECT_THAT(relaunch.err, HasSubstr("run 1 waits in the queue as job 101"));
    auto const resumed = osora({"resume", "1", "--detach"});
    EXPECT_EQ(resumed.code, 2) << "one job is enough; " << resumed.out;
    EXPECT_THAT(resumed.err, HasSubstr("run 1 waits in the queue as job 101, which continues it"));
    EXPECT_THAT(osora({"cancel", "1"}).out, HasSubstr("was taken out of the queue"));
    auto const ended = first.wait();
    EXPECT_EQ(ended.code, 4) << ended.out;
    EXPECT_THAT(ended.out, HasSubstr("job 101 has ended: cancelled"));
    auto second = start({"submit", "run.toml"});
    ASSERT_TRUE(second.says("job 102 queued")) << second.out();
    second.signal(SIGINT);
    auto const left = second.wait();
    EXPECT_EQ(left.code, 130);
    EXPECT_THAT(left.out, HasSubstr("taken out of the queue; nothing has run"));
    auto const detached = osora({"submit", "run.toml", "--detach"});
    EXPECT_EQ(detached.code, 0) << detached.err;
    auto watching = start({"watch", "3"});
    ASSERT_TRUE(watching.says("job 103 queued")) << watching.out();
    std::filesystem::remove(folder_ / "queue" / "hold");
    EXPECT_EQ(watching.wait().code, 0) << watching.out();
}

TEST_F(Queue, ManyFollowersAskTheQueueOnceAnInterval) {
    write("queue/hold", "");
    write_slurm_file(40, "nodes = 2\n");
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto const calls = [this] {
        return lines_of(tests::content_of(folder_ / "queue" / "calls")).size();
    };
    // One in an interval of 2 s and more, from nine processes; each alone would make as many.
    auto const most = [&] {
        std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - begin;
        return 3 + static_cast<std::size_t>(passed.count() / 2);
    };
    std::vector<tests::Running> watching;
    for (int i = 0; i < 9; ++i) watching.push_back(start({"watch", std::to_string(1 + i % 3)}));
    for (auto const& each : watching) ASSERT_TRUE(each.says("queued (Resources)")) << each.out();
    auto const before = calls();
    EXPECT_LE(before, most());
    EXPECT_TRUE(eventually([&] { return calls() >= before + 3; })) << "nobody asks any more";
    EXPECT_LE(calls(), most());

    auto const listed = osora({"status"});
    EXPECT_THAT(listed.out, HasSubstr("queued")) << listed.err;
    EXPECT_THAT(listed.out, HasSubstr("run 2 waits as job 102 (Resources)"));
    EXPECT_THAT(osora({"status", "3", "--json"}).out, HasSubstr("\"state\":\"queued\""));
    EXPECT_LE(calls(), most() + 1);
    for (auto& each : watching) each.signal(SIGINT);
    for (auto const* run : {"1", "2", "3"}) EXPECT_EQ(osora({"cancel", run}).code, 0);
}

TEST_F(Queue, ARunWhoseJobDiedIsSaidToHaveNoController) {
    write_slurm_file(2000, "nodes = 2\n", held_at(20));
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks")) << running.out() << log();
    int const controller = controller_pid("demo-0001");
    ASSERT_EQ(::kill(parent_of(controller), SIGKILL), 0);  // the batch step
    ASSERT_EQ(::kill(controller, SIGKILL), 0);
    for (auto const& each : run().processes()) signal_process(each, SIGKILL);
    ASSERT_TRUE(eventually([&] { return osora({"cancel", "1"}).code == 4; }));
    EXPECT_THAT(osora({"cancel", "1"}).err, HasSubstr("its job 101 is over: failed"));
    auto const relaunch = osora({"relaunch", "1"});
    EXPECT_EQ(relaunch.code, 4);
    EXPECT_THAT(relaunch.err, HasSubstr("its job 101 is over; osora resume 1 continues"));
    EXPECT_THAT(osora({"status"}).out, HasSubstr("run 1: its job 101 is over: failed"));
}

TEST_F(Queue, ARefusedJobLeavesNothing) {
    write_slurm_file(40, "nodes = 2\n", "[slurm]\npartition = \"nowhere\"\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.err, HasSubstr("sbatch: error: invalid partition specified: nowhere"));
    EXPECT_FALSE(std::filesystem::exists(run_dir("demo-0001")));
}

TEST_F(Queue, SlurmsWarningLeadsToANextJob) {
    write_slurm_file(200, "nodes = 2\n", held_at(20));  // until it is asked to stop
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks")) << running.out() << log();
    ASSERT_TRUE(eventually([&] { return is_saved(20); })) << "then no rank waits after the stop";
    // The batch step is the parent of the controller.
    ASSERT_EQ(::kill(parent_of(controller_pid("demo-0001")), SIGUSR2), 0);
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << log();
    EXPECT_THAT(ended.out, HasSubstr("stopping after this step: the job's time is nearly over"));
    EXPECT_THAT(ended.out, HasSubstr("slurm    job 102 follows"));
    EXPECT_THAT(ended.out, HasSubstr("\ndone     200 steps"));
    auto const started = events<protocol::RankStarted>();
    EXPECT_GE(started.back().start_step, 10);
}

TEST_F(Queue, AJobThatFollowsIsFoundWhereSbatchHasNotConfirmedIt) {
    write_slurm_file(200, "nodes = 2\n", held_at(20));  // until it is asked to stop
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks")) << running.out() << log();
    ASSERT_TRUE(eventually([&] { return is_saved(20); })) << "then no rank waits after the stop";
    write("queue/deaf", "");
    ASSERT_EQ(::kill(parent_of(controller_pid("demo-0001")), SIGUSR2), 0);
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << log();
    EXPECT_THAT(ended.out, HasSubstr("slurm    job 102 follows"));
    EXPECT_THAT(ended.out, HasSubstr("\ndone     200 steps"));
}

TEST_F(Queue, AKilledControllerComesBackToTheSameAgents) {
    write_slurm_file(300, "nodes = 2\n", held_at(20));
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("launch   4 ranks")) << running.out() << log();
    ASSERT_TRUE(eventually([&] { return !events<protocol::CheckpointCompleted>().empty(); }));
    ASSERT_EQ(::kill(controller_pid("demo-0001"), SIGKILL), 0);
    run().release();
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 0) << ended.out << ended.err << log();
    EXPECT_THAT(events<protocol::ControllerStarted>(), SizeIs(2));
    EXPECT_THAT(events<protocol::LaunchOrdered>(), SizeIs(1));  // this did not affect the run
    EXPECT_TRUE(all_gone("demo-0001"));
}

}  // namespace
}  // namespace osora::e2e_cli
