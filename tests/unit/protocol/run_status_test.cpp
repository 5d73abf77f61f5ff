#include "protocol/run_status.hpp"

#include "protocol/verdicts.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <random>

namespace osora::protocol {
namespace {

RunStatus after(RunStatus run, std::vector<RunEvent> const& events) {
    for (RunEvent const& each : events) fold(run, each);
    return run;
}

AgentJoined joined(int node) {
    AgentJoined event;
    event.node = node;
    return event;
}
RankStarted started(int attempt, int node) {
    RankStarted event;
    event.attempt = attempt;
    event.node = node;
    event.rank = node;
    return event;
}
RankFailed failed(int attempt, int node, int exit_code, int signal = 0) {
    RankFailed event;
    event.attempt = attempt;
    event.node = node;
    event.rank = node;
    event.exit_code = exit_code;
    event.signal = signal;
    return event;
}

/// Two nodes with a rank each, at most one relaunch, running in attempt 0.
RunStatus running() {
    RunSubmitted submitted;
    submitted.nodes = 2;
    submitted.restarts_max = 1;
    return after({}, {submitted, PlanChosen{}, ControllerStarted{}, joined(0), joined(1),
                      LaunchOrdered{0, 2, "h", 1}, started(0, 0), started(0, 1)});
}

TEST(RunStatus, GoesThroughItsStates) {
    RunSubmitted submitted;
    submitted.nodes = 2;
    RunStatus run = after({}, {submitted});
    EXPECT_EQ(run.state, RunState::submitted);
    EXPECT_EQ((run = after(run, {PlanChosen{}})).state, RunState::checked);
    EXPECT_EQ((run = after(run, {ControllerStarted{}})).state, RunState::allocating);
    EXPECT_EQ((run = after(run, {joined(1)})).state, RunState::allocating);
    EXPECT_EQ((run = after(run, {joined(0)})).state, RunState::launching);
    EXPECT_FALSE(run.ordered);
    EXPECT_EQ((run = after(run, {LaunchOrdered{0, 2, "h", 1}, started(0, 0)})).state,
              RunState::launching);
    EXPECT_EQ((run = after(run, {started(0, 1)})).state, RunState::running);
    EXPECT_EQ((run = after(run, {NodeFinished{0, 0, 9, false}})).state, RunState::running);
    EXPECT_EQ((run = after(run, {NodeFinished{0, 1, 9, false}})).state, RunState::finishing);
    EXPECT_EQ(run.verdict, Verdict::ok);
    EXPECT_FALSE(all_stopped(run));
    EXPECT_TRUE(all_stopped(run = after(run, {NodeStopped{0, 0, 0}, NodeStopped{0, 1, 0}})));
    run = after(run, {RunEnded{Verdict::ok, 0, ""}});
    EXPECT_EQ(run.state, RunState::done);
    EXPECT_EQ(after(run, {failed(0, 0, 13), NodeLost{}, StopRequested{}}), run)
        << "done stays done";
}

TEST(RunStatus, ATakenPortCostsNoRestart) {
    RunSubmitted submitted;
    submitted.job = "exec";
    submitted.restarts_max = 0;
    RunStatus run = after({}, {submitted, PlanChosen{}, ControllerStarted{}, joined(0)});
    RankFailed taken = failed(0, 0, 1);
    taken.message = "OSError: [Errno 98] Address already in use";
    for (int attempt = 0; attempt < kFreeRetriesMax; ++attempt) {
        taken.attempt = attempt;
        run = after(run, {LaunchOrdered{attempt, 1, "h", 1}, started(attempt, 0), taken});
        EXPECT_EQ(run.state, RunState::relaunching) << attempt;
        EXPECT_EQ(run.free_retries, attempt + 1);
        run = after(run, {NodeStopped{attempt, 0, 0}});
    }
    taken.attempt = kFreeRetriesMax;
    run = after(run, {LaunchOrdered{taken.attempt, 1, "h", 1}, started(taken.attempt, 0), taken});
    EXPECT_EQ(run.state, RunState::finishing) << "restarts_max is 0";
    EXPECT_EQ(run.restarts, 0);
}

RankFailed ecc_error(int node) {
    RankFailed event = failed(0, node, 17);
    event.message = "CUDA error: uncorrectable ECC error encountered";
    return event;
}

TEST(RunStatus, AFaultyGpuIsKnownUntilTheNextAttempt) {
    RunStatus run = after(running(), {ecc_error(1)});
    EXPECT_EQ(run.nodes[1].gpu_fault, "uncorrectable ECC error encountered");
    EXPECT_EQ(run.nodes[0].gpu_fault, "");
    run = after(run, {NodeStopped{0, 0, 0}, NodeStopped{0, 1, 0}});
    EXPECT_EQ(run.state, RunState::launching);
    EXPECT_EQ(after(run, {LaunchOrdered{1, 2, "h", 1}}).nodes[1].gpu_fault, "");
    run = after(run, {NodeLost{1, 0, "its host has a faulty GPU"}});
    EXPECT_EQ(run.state, RunState::relaunching) << "another agent comes";
    EXPECT_EQ(run.restarts, 1) << "the node costs none beside the rank";
    run = after(run, {joined(1)});
    EXPECT_EQ(run.state, RunState::launching);
    EXPECT_EQ(run.nodes[1].gpu_fault, "");
}

TEST(RunStatus, WhatTheDriverReportsIsABetterCauseThanLostPeers) {
    NodeStopped stopped{0, 1, 0};
    stopped.gpu_fault = "GPU 3: Xid 79";
    RunStatus run = after(running(), {failed(0, 0, 10), stopped});
    EXPECT_EQ(run.nodes[1].gpu_fault, "GPU 3: Xid 79");
    run = after(run, {NodeLost{1, 0, "its host has a faulty GPU: GPU 3: Xid 79"}});
    EXPECT_EQ(run.cause, "node 1 was lost: its host has a faulty GPU: GPU 3: Xid 79");
    EXPECT_EQ(run.restarts, 1);
}

TEST(RunStatus, AFaultRelaunchesOnceEveryNodeIsStopped) {
    RunStatus run = after(running(), {failed(0, 1, 0, SIGKILL)});
    EXPECT_EQ(run.state, RunState::relaunching);
    EXPECT_EQ(run.cause, "rank 1 on node 1 was killed by signal 9");
    EXPECT_EQ(run.restarts, 1);
    EXPECT_EQ(after(run, {LaunchOrdered{1, 2, "h", 1}}).attempt, 0)
        << "not before they are stopped";
    run = after(run, {NodeStopped{0, 0, 0}, NodeStopped{0, 1, 0}});
    EXPECT_EQ(run.state, RunState::launching);
    run = after(run, {LaunchOrdered{1, 2, "h", 2}, started(1, 0), started(1, 1)});
    EXPECT_EQ(run.state, RunState::running);
    EXPECT_EQ(run.store_port, 2);
    run = after(run, {failed(0, 0, 10)});
    EXPECT_EQ(run.state, RunState::running) << "an older attempt is ignored";
}

TEST(RunStatus, RelaunchesAreBoundedOverTheWholeRun) {
    RunStatus run = after(running(), {failed(0, 0, 10), NodeStopped{0, 0, 0}, NodeStopped{0, 1, 0},
                                      LaunchOrdered{1, 2, "h", 1}, failed(1, 1, 10)});
    EXPECT_EQ(run.state, RunState::finishing);
    EXPECT_EQ(run.verdict, Verdict::comm);
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_EQ(run.restarts, 1);
}

TEST(RunStatus, FaultsOfTheProgramAreNotTriedAgain) {
    RunStatus const run = after(running(), {failed(0, 0, 13)});
    EXPECT_EQ(run.state, RunState::finishing);
    EXPECT_EQ(run.verdict, Verdict::data);
    EXPECT_EQ(after(running(), {failed(0, 0, 93)}).exit_code, 93);
}

// Node 0 loses its peer first, then the reason arrives.
TEST(RunStatus, ABetterCauseReplacesASecondaryFailure) {
    RunStatus run = after(running(), {failed(0, 0, 10)});
    EXPECT_EQ(run.cause, "rank 0 on node 0 exited with 10 (communication)");
    run = after(run, {failed(0, 1, 0, SIGKILL)});
    EXPECT_EQ(run.cause, "rank 1 on node 1 was killed by signal 9");
    EXPECT_EQ(run.restarts, 1);
    run = after(run, {failed(0, 0, 12)});
    EXPECT_EQ(run.cause, "rank 1 on node 1 was killed by signal 9") << "the first real one stays";

    run = after(running(), {failed(0, 0, 10), failed(0, 1, 13)});
    EXPECT_EQ(run.state, RunState::finishing) << "the real cause is final";
    EXPECT_EQ(run.verdict, Verdict::data);
    EXPECT_EQ(run.restarts, 0);
}

TEST(RunStatus, NodesLostTogetherCountOnce) {
    RunStatus run =
        after(running(), {NodeLost{0, 4.2, "fell silent"}, NodeLost{1, 4.2, "fell silent"}});
    EXPECT_EQ(run.state, RunState::relaunching);
    EXPECT_EQ(run.restarts, 1);
    EXPECT_EQ(run.cause, "node 0 fell silent for 4.2 s");
    run = after(run, {NodeStopped{0, 0, 0}, NodeStopped{0, 1, -1}, joined(0)});
    EXPECT_EQ(run.state, RunState::relaunching) << "an agent is missing";
    EXPECT_EQ(after(run, {joined(1)}).state, RunState::launching);
    run = after(run, {NodeLost{1, 0, "agent did not join within 60 s"}});
    EXPECT_EQ(run.state, RunState::finishing) << "lost again after it was replaced";
    EXPECT_EQ(run.verdict, Verdict::node_fault);
}

TEST(RunStatus, AgentsThatNeverComeEndTheRun) {
    RunSubmitted submitted;
    submitted.nodes = 1;
    submitted.restarts_max = 2;
    RunStatus run = after({}, {submitted, ControllerStarted{}});
    for (int i = 0; i < 3; ++i) {
        EXPECT_NE(run.state, RunState::finishing);
        fold(run, NodeLost{0, 0, "agent could not be started: no such file"});
    }
    EXPECT_EQ(run.state, RunState::finishing);
    EXPECT_TRUE(all_stopped(run));
}

TEST(RunStatus, StoppingIsGracefulUntilSomethingBreaks) {
    RunStatus run = after(running(), {StopRequested{false, "Ctrl-C"}});
    EXPECT_EQ(run.verdict, Verdict::cancelled);
    EXPECT_EQ(run.exit_code, 130);
    EXPECT_EQ(run.cause, "Ctrl-C");
    EXPECT_EQ(run.stop, StopMode::graceful);
    RunStatus const broken = after(run, {failed(0, 0, 10)});
    EXPECT_EQ(broken.stop, StopMode::now);
    EXPECT_EQ(broken.cause, "Ctrl-C");
    EXPECT_EQ(after(run, {StopRequested{true, "twice"}}).stop, StopMode::now);
    EXPECT_EQ(after(run, {NodeFinished{0, 0, 5, true}, NodeFinished{0, 1, 5, true}}).verdict,
              Verdict::cancelled);
}

TEST(RunStatus, KnowsWhetherAPersonStoppedIt) {
    RunStatus const warned =
        after(running(), {StopRequested{false, "the job is preempted", false}});
    EXPECT_FALSE(warned.stopped_by_user);
    EXPECT_EQ(warned.verdict, Verdict::cancelled);
    RunStatus const both = after(warned, {StopRequested{false, "osora cancel"}});
    EXPECT_TRUE(both.stopped_by_user);
    EXPECT_EQ(both.cause, "the job is preempted");
    EXPECT_TRUE(after(both, {StopRequested{true, "too slow", false}}).stopped_by_user);
}

TEST(RunStatus, AnAskedRelaunchSavesFirstAndCostsNoRestart) {
    RunStatus run = after(running(), {RelaunchAsked{false, "alice", "new driver"}});
    EXPECT_EQ(run.state, RunState::relaunching);
    EXPECT_TRUE(run.asked_to_save);
    EXPECT_EQ(run.cause, "relaunch asked by alice: new driver");
    EXPECT_EQ(after(run, {RelaunchAsked{false, "bob", ""}}), run) << "the first one counts";
    EXPECT_FALSE(after(run, {RelaunchAsked{true, "bob", ""}}).asked_to_save);
    EXPECT_FALSE(after(run, {failed(0, 0, 10)}).asked_to_save) << "the group cannot save";
    EXPECT_EQ(after(run, {failed(0, 0, 10)}).restarts, 0);
    EXPECT_EQ(after(run, {StopRequested{}}).stop, StopMode::graceful);
    RunStatus const lost = after(run, {NodeLost{1, 4, "x"}});
    EXPECT_EQ(lost.restarts, 1) << "a fault meanwhile counts";
    EXPECT_FALSE(lost.asked_to_save);
    EXPECT_EQ(after(run, {NodeFinished{0, 0, 9, false}, NodeFinished{0, 1, 9, false}}).verdict,
              Verdict::ok)
        << "it came during the last step";
    run = after(run, {NodeFinished{0, 0, 9, true}, NodeFinished{0, 1, 9, true},
                      NodeStopped{0, 0, 0}, NodeStopped{0, 1, 0}});
    EXPECT_EQ(run.state, RunState::launching);
    run = after(run, {LaunchOrdered{1, 2, "h", 2}, started(1, 0), started(1, 1)});
    EXPECT_EQ(run.state, RunState::running);
    EXPECT_EQ(run.restarts, 0);
    EXPECT_EQ(run.asked_relaunches, 1);
    EXPECT_FALSE(run.left_early);
}

TEST(RunStatus, StopWinsInEveryStateButTheLast) {
    std::vector<RunEvent> const life{PlanChosen{},  ControllerStarted{},         joined(0),
                                     joined(1),     LaunchOrdered{0, 2, "h", 1}, started(0, 0),
                                     started(0, 1), failed(0, 0, 0, SIGKILL)};
    RunSubmitted submitted;
    submitted.nodes = 2;
    RunStatus run = after({}, {submitted});
    for (RunEvent const& each : life) {
        EXPECT_EQ(after(run, {StopRequested{}}).verdict, Verdict::cancelled);
        fold(run, each);
    }
    EXPECT_EQ(after(run, {StopRequested{}}).verdict, Verdict::cancelled);
    RunStatus const ok =
        after(running(), {NodeFinished{0, 0, 9, false}, NodeFinished{0, 1, 9, false}});
    EXPECT_EQ(after(ok, {StopRequested{}}).verdict, Verdict::ok) << "it has done its last step";
}

TEST(RunStatus, AHangEndsTheAttemptAndProcessesThatStayEndTheRun) {
    RunStatus run = after(running(), {HangDetected{0, 1, 1, Phase::step, 61}});
    EXPECT_EQ(run.state, RunState::relaunching);
    run = after(run, {NodeStopped{0, 0, 0}, NodeStopped{0, 1, 3}});
    EXPECT_EQ(run.state, RunState::finishing);
    EXPECT_EQ(run.cause, "3 processes on node 1 could not be stopped");
}

TEST(RunStatus, ANodeThatStopsItsWorkersUnaskedIsAFault) {
    EXPECT_EQ(after(running(), {NodeStopped{0, 1, 0}}).cause,
              "node 1 stopped its workers: it had no controller");
}

TEST(RunStatus, ALeaseThatEndedExplainsRanksThatLostTheirPeers) {
    // Ranks of node 1 fail first, since node 0 has ended its own.
    for (int const restarts_max : {1, 0}) {
        RunStatus run = running();
        run.restarts_max = restarts_max;
        run = after(run, {failed(0, 1, 10), NodeStopped{0, 0, 0, true}});
        EXPECT_EQ(run.cause, "node 0 stopped its workers: it had no controller");
        EXPECT_EQ(run.restarts, restarts_max);
        EXPECT_EQ(run.verdict, restarts_max > 0 ? Verdict::none : Verdict::node_fault);
    }
    auto const asked = after(running(), {failed(0, 1, 10), NodeStopped{0, 0, 0, false}});
    EXPECT_NE(asked.cause.find("exited with 10"), std::string::npos) << asked.cause;
}

TEST(RunStatus, AControllerReopensARunThatDidNotSucceed) {
    RunStatus const ended =
        after(running(), {StopRequested{false, "Ctrl-C"}, NodeStopped{0, 0, 0},
                          NodeStopped{0, 1, 0}, RunEnded{Verdict::cancelled, 130, "Ctrl-C"}});
    ASSERT_EQ(ended.state, RunState::done);
    RunStatus const again = after(ended, {ControllerStarted{}});
    EXPECT_EQ(again.state, RunState::allocating);
    EXPECT_EQ(again.verdict, Verdict::none);
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_EQ(again.attempt, 0) << "the next one is new";
    EXPECT_EQ(again.checkpoint_step, ended.checkpoint_step);
    RunStatus const launched = after(again, {joined(0), joined(1), LaunchOrdered{1, 2, "", 0}});
    EXPECT_EQ(launched.attempt, 1);
    RunStatus const well = after(running(), {RunEnded{Verdict::ok, 0, ""}});
    EXPECT_EQ(after(well, {ControllerStarted{}}).state, RunState::done);
}

// Any events in any order: no crash, no index out of range, restarts bounded, done stays done.
TEST(RunStatus, SurvivesAnySequenceOfEvents) {
    std::mt19937 random(1);
    auto pick = [&](int low, int high) {
        return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
    };
    for (int round = 0; round < 3000; ++round) {
        RunStatus run;
        for (int i = 0; i < 60; ++i) {
            RunSubmitted submitted;
            submitted.nodes = pick(-1, 3);
            submitted.restarts_max = pick(0, 2);
            int const node = pick(-2, 4), attempt = pick(-1, 3);
            std::vector<RunEvent> const any{submitted,
                                            ControllerStarted{},
                                            joined(node),
                                            joined(pick(0, 2)),
                                            joined(pick(0, 2)),
                                            NodeLost{node, 1, "x"},
                                            LaunchOrdered{run.attempt + pick(0, 1), 2, "", 0},
                                            started(attempt, node),
                                            started(run.attempt, pick(0, 2)),
                                            failed(attempt, node, pick(0, 16)),
                                            NodeFinished{attempt, node, 1, pick(0, 1) == 1},
                                            NodeStopped{attempt, node, pick(-1, 1)},
                                            NodeStopped{run.attempt, pick(0, 2), 0},
                                            HangDetected{attempt, node, 0, Phase::step, 1},
                                            StopRequested{pick(0, 1) == 1, ""},
                                            RelaunchAsked{pick(0, 1) == 1, "", ""}};
            fold(run, any[static_cast<std::size_t>(pick(0, static_cast<int>(any.size()) - 1))]);
            EXPECT_LE(run.restarts, std::max(run.restarts_max, 0));
            EXPECT_GE(run.restarts, 0);
            EXPECT_TRUE(!run.asked_to_save || run.state == RunState::relaunching);
        }
    }
}

}  // namespace
}  // namespace osora::protocol
