#include "tests/unit/daemon/agent/agent_by_hand.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace osora::daemon {
namespace {

StepMetrics step(int number) {
    StepMetrics metrics;
    metrics.step = number;
    metrics.step_time_s = 0.5;
    return metrics;
}

TEST(AgentCore, SaysHelloAndNothingElseBeforeTheWelcome) {
    Agent agent;
    agent.feed(ControllerConnected{});
    agent.wait(3s, false);
    ASSERT_EQ(agent.asked<SendToController>().size(), 1u);
    AgentHello const hello = agent.sent<AgentHello>().at(0);
    EXPECT_EQ(hello.token, "secret");
    EXPECT_EQ(hello.node, 1);
    EXPECT_EQ(hello.attempt, -1);
    agent.hear(Welcome{});
    EXPECT_EQ(agent.sent<Heartbeat>().size(), 1u);
}

TEST(AgentCore, ReportsStartsAtOnceAndTheEndOfTheNode) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    EXPECT_EQ(agent.asked<SpawnWorkers>().at(0).launch.first_rank, 2);
    agent.say(2, WorkerHello{kWorkerProtocol, 2, 102, 5, {{"device", "cpu"}}});
    RankStarted const started = agent.sent<RankStarted>().at(0);
    EXPECT_EQ(started.node, 1);
    EXPECT_EQ(started.pid, 102);
    EXPECT_EQ(started.start_step, 5);
    agent.say(2, WorkerFinished{9, false});
    agent.say(3, WorkerFinished{9, false});
    agent.exit(2, 0);
    EXPECT_TRUE(agent.sent<NodeFinished>().empty());
    agent.exit(3, 0);
    EXPECT_EQ(agent.sent<NodeFinished>().at(0).steps, 9);
    EXPECT_FALSE(agent.sent<NodeFinished>().at(0).stopped);
    EXPECT_TRUE(agent.sent<RankFailed>().empty());
}

TEST(AgentCore, FailuresGoAtOnceWithTheWorkersMessage) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.say(3, WorkerFailed{13, "manifest clips.csv: empty"});
    agent.exit(3, 13);
    agent.exit(2, 0, SIGKILL);
    auto const failed = agent.sent<RankFailed>();
    ASSERT_EQ(failed.size(), 2u);
    EXPECT_EQ(failed[0].exit_code, 13);
    EXPECT_EQ(failed[0].message, "manifest clips.csv: empty");
    EXPECT_EQ(failed[1].signal, SIGKILL);
    EXPECT_TRUE(agent.sent<NodeFinished>().empty());
}

TEST(AgentCore, AnEndWithoutFinishingIsAFailureAndACrashAfterFinishingIsNot) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.exit(2, 0);
    EXPECT_EQ(agent.sent<RankFailed>().size(), 1u);
    agent.say(3, WorkerFinished{9, false});
    agent.exit(3, 0, SIGSEGV);
    EXPECT_EQ(agent.sent<RankFailed>().size(), 1u);
    EXPECT_EQ(agent.sent<RunNotice>().at(0).kind, "exit_after_finish");
}

TEST(AgentCore, MetricsGoOnceASecondAndAllAtTheEnd) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    for (int i = 0; i < 3; ++i) {
        agent.say(2, step(i));
        agent.say(3, step(i));
    }
    agent.say(2, step(3));
    EXPECT_TRUE(agent.sent<MetricChunk>().empty());
    agent.wait(1s, true);
    ASSERT_EQ(agent.sent<MetricChunk>().size(), 1u);
    EXPECT_EQ(agent.sent<MetricChunk>()[0].bucket.size(), 3u);
    agent.exit(2, 10);
    agent.exit(3, 0, SIGKILL);
    ASSERT_EQ(agent.sent<MetricChunk>().size(), 2u);
    EXPECT_EQ(agent.sent<MetricChunk>()[1].ranks, 1) << "the step that one rank did";
}

TEST(AgentCore, ReportsComeAgainUntilTheyAreAcknowledged) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.say(2, WorkerHello{});
    agent.say(3, WorkerHello{});
    agent.hear(AckReports{1});
    agent.feed(ControllerDisconnected{});
    agent.exit(2, 12);
    EXPECT_TRUE(agent.sent<RankFailed>().empty()) << "nobody listens";
    agent.actions.clear();
    agent.connect();
    EXPECT_EQ(agent.sent<AgentHello>().at(0).first_report, 1u);
    EXPECT_EQ(agent.sent<AgentHello>().at(0).workers_left, 1);
    EXPECT_EQ(agent.sent<RankStarted>().at(0).rank, 3);
    EXPECT_EQ(agent.sent<RankFailed>().size(), 1u);
    agent.hear(AckReports{99});
    agent.actions.clear();
    agent.feed(ControllerDisconnected{});
    agent.connect();
    EXPECT_EQ(agent.sent<AgentHello>().at(0).first_report, 3u);
    EXPECT_TRUE(agent.sent<RankFailed>().empty());
}

TEST(AgentCore, WithoutAControllerTheLeaseEndsTheWorkersAndThenTheAgent) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.wait(4s, true);
    MonotonicTime const last = agent.now;
    agent.feed(ControllerDisconnected{});
    agent.actions.clear();
    agent.wait(4900ms, false);
    EXPECT_TRUE(agent.actions.empty());
    agent.wait(200ms, false);
    EXPECT_TRUE(agent.asked<SendToWorkers>().at(0).message.save_checkpoint);
    EXPECT_EQ(agent.asked<SendToWorkers>().at(0).message.reason, "no controller for 5.0 s");
    agent.wait(2800ms, false);
    EXPECT_TRUE(agent.asked<SignalWorkers>().empty());
    agent.wait(200ms, false);
    EXPECT_EQ(agent.asked<SignalWorkers>().at(0).signal, SIGKILL);
    EXPECT_LE(agent.now - last, 8100ms);
    agent.exit(2, 0, SIGKILL);
    EXPECT_TRUE(agent.asked<ExitAgent>().empty());
    agent.exit(3, 0, SIGKILL);
    EXPECT_EQ(agent.asked<ExitAgent>().at(0).exit_code, kAgentUnreachable);
    EXPECT_EQ(agent.core.next_deadline(), kNever);
}

TEST(AgentCore, AHungConnectionEndsTheLeaseToo) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.wait(5100ms, false);  // connected, and silent
    EXPECT_EQ(agent.asked<SendToWorkers>().size(), 1u);
}

TEST(AgentCore, OfADeadControllersLeaseOnlyFiveSecondsAreLeft) {
    AgentOptions options;
    options.lease = 30s;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    agent.wait(1s, true);
    agent.hear(StopAttempt{.attempt = 0, .how = StopHow::checkpoint, .reason = "it is gone"});
    agent.feed(ControllerDied{});
    agent.wait(7900ms, false);
    EXPECT_TRUE(agent.asked<SignalWorkers>().empty()) << "they save a checkpoint";
    agent.wait(200ms, false);
    EXPECT_EQ(agent.asked<SignalWorkers>().at(0).signal, SIGKILL);
    agent.exit(2, 0, SIGKILL);
    agent.exit(3, 0, SIGKILL);
    EXPECT_EQ(agent.asked<ExitAgent>().at(0).exit_code, kAgentUnreachable);
}

TEST(AgentCore, ADeadControllerDoesNotLengthenALease) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.feed(ControllerDisconnected{});
    agent.actions.clear();
    agent.wait(4s, false);
    agent.feed(ControllerDied{});
    agent.wait(1100ms, false);
    EXPECT_EQ(agent.asked<SendToWorkers>().size(), 1u);
}

TEST(AgentCore, OneThatLingersReportsItsWorkersToTheNextController) {
    AgentOptions options;
    options.linger = 60s;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    agent.feed(ControllerDisconnected{});
    agent.wait(5100ms, false);
    agent.exit(2, 16);
    agent.exit(3, 0, SIGTERM);
    agent.actions.clear();
    agent.connect();
    EXPECT_TRUE(agent.sent<RankFailed>().empty()) << "it had ended them itself";
    EXPECT_EQ(agent.sent<NodeStopped>().at(0).processes_left, 0);
    EXPECT_EQ(agent.sent<AgentHello>().at(0).attempt, 0);
    EXPECT_TRUE(agent.asked<ExitAgent>().empty());
}

TEST(AgentCore, StopsGentlyThenFirmlyThenHard) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.hear(StopAttempt{0, StopHow::checkpoint, "Ctrl-C"});
    EXPECT_EQ(agent.asked<SendToWorkers>().at(0).message.reason, "Ctrl-C");
    agent.wait(20s, true);
    EXPECT_TRUE(agent.asked<SignalWorkers>().empty())
        << "how long it may take is the controller's affair";
    agent.hear(StopAttempt{0, StopHow::terminate, ""});
    EXPECT_EQ(agent.asked<SignalWorkers>().back().signal, SIGTERM);
    agent.hear(StopAttempt{0, StopHow::checkpoint, ""});  // never gentler again
    agent.wait(3100ms, true);
    EXPECT_EQ(agent.asked<SignalWorkers>().back().signal, SIGKILL);
    agent.exit(2, 0, SIGTERM);
    agent.exit(3, 0, SIGKILL);
    EXPECT_TRUE(agent.sent<RankFailed>().empty());
    EXPECT_EQ(agent.sent<NodeStopped>().at(0).processes_left, 0);
}

TEST(AgentCore, CountsProcessesThatCannotBeKilled) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.hear(StopAttempt{0, StopHow::kill, ""});
    agent.exit(2, 0, SIGKILL);
    agent.wait(2100ms, true);
    EXPECT_EQ(agent.sent<NodeStopped>().at(0).processes_left, 1);
}

TEST(AgentCore, ItsOwnFailuresCountWhileStopping) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.hear(StopAttempt{0, StopHow::terminate, ""});
    agent.exit(2, 10);
    EXPECT_TRUE(agent.sent<RankFailed>().empty()) << "it had lost its peers";
    agent.exit(3, 13);
    EXPECT_EQ(agent.sent<RankFailed>().size(), 1u);
}

TEST(AgentCore, ALaunchThatWasStoppedBeforeItCameHasNoEffect) {
    Agent agent;
    agent.connect();
    agent.hear(StopAttempt{3, StopHow::terminate, ""});
    EXPECT_EQ(agent.sent<NodeStopped>().at(0).attempt, 3);
    agent.launch(3);
    EXPECT_TRUE(agent.asked<SpawnWorkers>().empty());
    agent.launch(4);
    EXPECT_EQ(agent.asked<SpawnWorkers>().size(), 1u);
    agent.launch(4);
    EXPECT_EQ(agent.asked<SpawnWorkers>().size(), 1u) << "asked twice, started once";
}

TEST(AgentCore, ANewAttemptWaitsUntilTheLastOneHasEnded) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    LaunchWorkers next;
    next.attempt = 1;
    next.local_world_size = 2;
    next.first_rank = 2;
    agent.hear(next);
    EXPECT_EQ(agent.asked<SpawnWorkers>().size(), 1u);
    EXPECT_EQ(agent.asked<SignalWorkers>().at(0).signal, SIGKILL);
    agent.exit(2, 0, SIGKILL);
    agent.exit(3, 0, SIGKILL);
    EXPECT_EQ(agent.asked<SpawnWorkers>().back().launch.attempt, 1);
    EXPECT_EQ(agent.core.workers_alive(), 2);
}

TEST(AgentCore, KeepsOnePortForAnAttempt) {
    Agent agent;
    agent.connect();
    agent.hear(ReserveStore{0});
    agent.hear(ReserveStore{0});
    EXPECT_EQ(agent.asked<BindStore>().size(), 1u);
    agent.feed(StoreBound{0, 29500, "", "127.0.0.1"});
    agent.hear(ReserveStore{0});
    auto const answers = agent.sent<StoreReserved>();
    ASSERT_EQ(answers.size(), 2u);
    EXPECT_EQ(answers[1].port, 29500);
    EXPECT_EQ(answers[1].host, "127.0.0.1");
    agent.hear(ReserveStore{1});
    agent.feed(StoreBound{1, 0, "Address already in use", ""});
    EXPECT_EQ(agent.sent<StoreReserved>().back().error, "Address already in use");
}

TEST(AgentCore, RefusedOrDismissedItEndsItsWorkersFirst) {
    for (ToAgent const& message : {ToAgent(Refused{"wrong token"}), ToAgent(Dismiss{})}) {
        Agent agent;
        agent.connect();
        agent.launch(0);
        agent.hear(message);
        EXPECT_EQ(agent.asked<SignalWorkers>().at(0).signal, SIGTERM);
        EXPECT_TRUE(agent.asked<ExitAgent>().empty());
        agent.exit(2, 0, SIGTERM);
        agent.exit(3, 0, SIGTERM);
        EXPECT_EQ(agent.asked<ExitAgent>().size(), 1u);
    }
}

TEST(AgentCore, HeartbeatsSayWhoIsSilentAndWhere) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.wait(1500ms, true);
    agent.say(3, PhaseChanged{Phase::loading, 30});
    agent.say(3, step(7));
    agent.wait(1s, true);
    Heartbeat const beat = agent.sent<Heartbeat>().back();
    ASSERT_EQ(beat.ranks.size(), 2u);
    EXPECT_EQ(beat.ranks[0].phase, Phase::starting);
    EXPECT_NEAR(beat.ranks[0].silent_s, 2.0, 0.01);
    EXPECT_EQ(beat.ranks[1].phase, Phase::loading);
    EXPECT_EQ(beat.ranks[1].step, 7);
    EXPECT_EQ(beat.ranks[1].limit_s, 30);
    EXPECT_NEAR(beat.ranks[1].silent_s, 0.5, 0.01);
}

TEST(AgentCore, ExecJobsStartWhenTheyAreSpawnedAndStopBySignal) {
    AgentOptions options;
    options.exec = true;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    EXPECT_EQ(agent.sent<RankStarted>().size(), 2u);
    agent.wait(1s, true);
    EXPECT_TRUE(agent.sent<Heartbeat>().back().ranks.empty());
    agent.hear(StopAttempt{0, StopHow::checkpoint, ""});
    EXPECT_EQ(agent.asked<SignalWorkers>().at(0).signal, SIGTERM);
    agent.exit(2, 143);
    agent.exit(3, 0);
    EXPECT_TRUE(agent.sent<RankFailed>().empty());
    EXPECT_EQ(agent.sent<NodeStopped>().size(), 1u);
}

TEST(AgentCore, AWorkerThatCannotBeStartedFails) {
    Agent agent;
    agent.connect();
    LaunchWorkers order;
    agent.hear(order);
    agent.feed(WorkerSpawned{0, 0, 0, "No such file or directory"});
    EXPECT_EQ(agent.sent<RankFailed>().at(0).message,
              "cannot be started: No such file or directory");
    EXPECT_EQ(agent.core.workers_alive(), 0);
}

TEST(AgentCore, NoticesAreBoundedWithoutAController) {
    AgentOptions options;
    options.lease = 3600s;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    agent.feed(ControllerDisconnected{});
    for (int i = 0; i < 5000; ++i) agent.say(2, WorkerNotice{"clip_skipped", "info", i, ""});
    agent.exit(3, 12);
    agent.actions.clear();
    agent.connect();
    EXPECT_EQ(agent.sent<RunNotice>().size(), 1000u);
    EXPECT_EQ(agent.sent<RankFailed>().size(), 1u) << "decisions are never dropped";
    agent.hear(AckReports{1001});
    agent.actions.clear();
    agent.wait(1s, true);
    EXPECT_EQ(agent.sent<RunNotice>().at(0).detail,
              "4000 reports were dropped while no controller was connected");
}

}  // namespace
}  // namespace osora::daemon
