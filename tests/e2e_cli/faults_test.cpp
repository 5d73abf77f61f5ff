// Ctrl-C, and killed processes: what osora prints, and that no process remains.
#include "tests/e2e_cli/cli_fixture.hpp"

#include <csignal>

namespace osora::e2e_cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class Faults : public Cli {};

TEST_F(Faults, CtrlCStopsWithACheckpoint) {
    write_run_file(5000);
    hold_at(25);
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("checkpoint 10 saved"));
    running.signal(SIGINT);
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 130);
    EXPECT_THAT(ended.out,
                HasSubstr("\nstopping after this step, with a checkpoint (Ctrl-C again: now)\n"));
    EXPECT_THAT(ended.out, ContainsRegex("\nstopped  Ctrl-C · step [0-9,]+ of 5,000\n"));
    EXPECT_THAT(ended.out, ContainsRegex("checkpoint [0-9,]+ kept · osora resume 1 continues"));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(Faults, CtrlCTwiceStopsNow) {
    write_run_file(5000, "[worker]\nenv = { OSORA_MOCK_IGNORE_STOP = \"1\" }\n");
    hold_at(25);
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("\nstep "));  // the plan says "/step" too
    running.signal(SIGINT);
    ASSERT_TRUE(running.says("stopping after this step"));
    running.signal(SIGINT);
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 130);
    EXPECT_THAT(ended.out, HasSubstr("\nstopping now\n"));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(Faults, ARunWhoseOsoraIsKilledStopsByItself) {
    write_run_file(5000);
    hold_at(25);
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("checkpoint 10 saved"));
    running.signal(SIGKILL);
    EXPECT_EQ(running.wait().code, 128 + SIGKILL);
    EXPECT_TRUE(all_gone("demo-0001"));
    EXPECT_THAT(osora({"status", "1"}).out, HasSubstr("stopped  the attached osora went away"));
}

TEST_F(Faults, AKilledControllerIsNoticedAndTheRunResumed) {
    write("site.toml", "");  // the default lease: it ends the ranks
    write_run_file(300);
    hold_at(25);
    auto running = start({"submit", "run.toml"});
    ASSERT_TRUE(running.says("checkpoint 10 saved"));
    ::kill(controller_pid("demo-0001"), SIGKILL);
    auto const ended = running.wait();
    EXPECT_EQ(ended.code, 4);
    EXPECT_THAT(ended.out, HasSubstr("the controller was killed by signal 9"));
    EXPECT_THAT(ended.out, ContainsRegex("osora resume 1 continues from checkpoint [0-9]+\n"));
    EXPECT_TRUE(all_gone("demo-0001"));
    EXPECT_THAT(osora({"status"}).out, HasSubstr("run 1 lost its controller; osora resume 1"));
    EXPECT_EQ(osora({"watch", "1"}).code, 4);
    EXPECT_EQ(osora({"cancel", "1"}).code, 4);
    run().release();
    auto const resumed = osora({"resume", "1"});
    EXPECT_EQ(resumed.code, 0) << resumed.out << resumed.err;
    EXPECT_THAT(resumed.out, HasSubstr("done     300 steps"));
}

TEST_F(Faults, AKilledRankIsRelaunchedAndReportedOnce) {
    write_run_file(60, "[worker]\nenv = { OSORA_MOCK_KILL = \"1:25@0\" }\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.out;
    EXPECT_THAT(ended.out, ContainsRegex("[0-9:]+  rank 1 on node 0 was killed by signal 9\n"
                                         "[0-9:]+  relaunch 1 of 3 from checkpoint 20\n"));
    EXPECT_THAT(ended.out, ContainsRegex("[0-9:]+  2 ranks running again after [0-9.]+ m?s"));
    EXPECT_THAT(ended.out, HasSubstr("done     60 steps"));
}

TEST_F(Faults, AFailedRunSaysWhyAndWhatToDo) {
    write_run_file(60, "[worker]\nenv = { OSORA_MOCK_FAIL = \"0:15:14\" }\n");
    auto const ended = osora({"submit", "run.toml"});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.out, HasSubstr("\nfailed   rank 0 on node 0 exited with 14 (configuration)"));
    EXPECT_THAT(ended.out, HasSubstr("osora resume 1 continues · osora logs 1"));
    EXPECT_THAT(ended.out, HasSubstr("osora explain E-configuration\n"));
    EXPECT_TRUE(all_gone("demo-0001"));
}

TEST_F(Faults, LeavingAWatchLeavesTheRun) {
    write_run_file(5000);
    hold_at(25);
    ASSERT_EQ(osora({"submit", "run.toml", "--detach"}).code, 0);
    auto watching = start({"watch", "1"});
    ASSERT_TRUE(watching.says("step "));
    watching.signal(SIGINT);
    auto const left = watching.wait();
    EXPECT_EQ(left.code, 130);
    EXPECT_THAT(left.out, HasSubstr("detached; run 1 continues (osora watch 1, osora cancel 1)\n"));
    EXPECT_FALSE(processes_of("demo-0001").empty());
    EXPECT_EQ(osora({"cancel", "1", "--now"}).code, 0);
    EXPECT_TRUE(all_gone("demo-0001"));
}

}  // namespace
}  // namespace osora::e2e_cli
