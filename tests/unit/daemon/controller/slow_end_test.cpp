// Ranks that do not end at once after SIGKILL: a relaunch waits for them, the end of a run does
// not.
#include "tests/unit/daemon/agent/agent_by_hand.hpp"
#include "tests/unit/daemon/controller/controller_by_hand.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

/// Of two ranks, rank 3 lives after SIGKILL.
void kill_slow_rank(Agent& agent) {
    agent.connect();
    agent.launch(0);
    agent.hear(StopAttempt{0, StopHow::terminate, "rank 1 failed", true});
    agent.exit(2, 0, SIGTERM);
    agent.wait(3s, true);
    EXPECT_EQ(agent.asked<SignalWorkers>().back().signal, SIGKILL);
}

std::vector<int> processes_left(Agent const& agent) {
    std::vector<int> counts;
    for (auto const& each : agent.sent<NodeStopped>()) counts.push_back(each.processes_left);
    return counts;
}

using Counts = std::vector<int>;

TEST(SlowEnd, ARelaunchWaitsAMinute) {
    Agent agent;
    kill_slow_rank(agent);
    agent.wait(59s, true);
    EXPECT_EQ(processes_left(agent), Counts{});
    EXPECT_GT(agent.sent<Heartbeat>().size(), 55u) << "it does not fall silent";
    agent.exit(3, 0, SIGKILL);
    EXPECT_EQ(processes_left(agent), Counts{0});
    EXPECT_TRUE(agent.sent<RankFailed>().empty());
}

TEST(SlowEnd, ANoticeSaysWhatIsWaitedFor) {
    Agent agent;
    kill_slow_rank(agent);
    agent.wait(4s, true);
    EXPECT_TRUE(agent.sent<RunNotice>().empty());
    agent.wait(20s, true);
    ASSERT_EQ(agent.sent<RunNotice>().size(), 1u);
    EXPECT_EQ(agent.sent<RunNotice>()[0].detail,
              "the relaunch waits up to 60 s for 1 rank that SIGKILL has not ended within 5 s (a "
              "driver or a file system may be slow)");
}

TEST(SlowEnd, WhatNeverEndsIsCounted) {
    Agent agent;
    kill_slow_rank(agent);
    agent.wait(61s, true);
    EXPECT_EQ(processes_left(agent), Counts{1});
}

TEST(SlowEnd, AStopMeanwhileDoesNotWait) {
    Agent agent;
    kill_slow_rank(agent);
    agent.wait(10s, true);
    agent.hear(StopAttempt{0, StopHow::terminate, "osora cancel"});
    agent.wait(2100ms, true);
    EXPECT_EQ(processes_left(agent), Counts{1});
    Agent dismissed;
    kill_slow_rank(dismissed);
    dismissed.hear(Dismiss{});
    dismissed.wait(2100ms, true);
    EXPECT_EQ(dismissed.asked<ExitAgent>().size(), 1u);
}

TEST(SlowEnd, TheControllerWaitsForAnAgentThatAnswers) {
    Controller controller;
    controller.run();
    controller.say(0, Controller::killed(0, 0));
    EXPECT_TRUE(controller.sent<StopAttempt>().at(0).second.relaunch);
    controller.say(0, NodeStopped{0, 0, 0});
    AgentOptions const agent;
    controller.wait(agent.kill_grace + agent.relaunch_reap_limit + 1s);
    EXPECT_TRUE(controller.asked<StopAgent>().empty());
    controller.say(1, NodeStopped{0, 1, 0});
    EXPECT_EQ(controller.state(), RunState::launching);
    EXPECT_EQ(controller.core.status().restarts, 1);
}

TEST(SlowEnd, ButNotForEver) {
    Controller controller;
    controller.run();
    controller.say(0, Controller::killed(0, 0));
    controller.wait(67s);
    EXPECT_EQ(controller.asked<StopAgent>().size(), 2u);
}

TEST(SlowEnd, ProcessesThatCannotBeStoppedEndTheRun) {
    Controller controller;
    controller.run();
    controller.say(0, Controller::killed(0, 0));
    controller.say(0, NodeStopped{0, 0, 0});
    controller.wait(63s);
    controller.say(1, NodeStopped{0, 1, 2});
    EXPECT_EQ(controller.core.status().cause, "2 processes on node 1 could not be stopped");
    EXPECT_EQ(controller.core.status().verdict, Verdict::node_fault);
}

TEST(SlowEnd, CancelDuringARelaunchDoesNotWait) {
    Controller controller;
    controller.run();
    controller.say(0, Controller::killed(0, 0));
    controller.wait(20s);
    controller.feed(StopAsked{false, "osora cancel"});
    auto const orders = controller.sent<StopAttempt>();
    ASSERT_EQ(orders.size(), 2u);
    EXPECT_FALSE(orders[0].second.relaunch);
    controller.wait(5500ms);
    EXPECT_TRUE(controller.asked<StopAgent>().empty());
    controller.wait(500ms);
    EXPECT_EQ(controller.asked<StopAgent>().size(), 2u);
}

}  // namespace
}  // namespace osora::daemon
