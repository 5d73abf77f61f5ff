// An agent that was paused itself, with its workers: that time is no silence of anyone.
#include "tests/unit/daemon/agent/agent_by_hand.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

namespace osora::daemon {
namespace {

void pause(Agent& agent, MonotonicTime length) {
    agent.now += length;
    agent.feed(AgentTick{});
}

double most_silent_s(Agent const& agent) {
    double most = 0;
    for (auto const& each : agent.sent<Heartbeat>()) {
        for (auto const& rank : each.ranks) most = std::max(most, rank.silent_s);
    }
    return most;
}

TEST(AgentPause, IsNeitherSilenceNorTheEndOfTheLease) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.wait(2s, true);
    pause(agent, 300s);
    EXPECT_LT(most_silent_s(agent), 5);
    EXPECT_TRUE(agent.asked<SendToWorkers>().empty());
    agent.wait(2s, false);
    EXPECT_TRUE(agent.asked<SendToWorkers>().empty()) << "it waits for an answer";
    agent.wait(60s, true);
    EXPECT_TRUE(agent.asked<SendToWorkers>().empty());
    EXPECT_TRUE(agent.asked<SignalWorkers>().empty());
    EXPECT_TRUE(agent.asked<ExitAgent>().empty());
}

TEST(AgentPause, AControllerThatIsGoneAfterwardsIsMissed) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.wait(2s, true);
    pause(agent, 300s);
    agent.wait(5s, false);
    EXPECT_EQ(agent.asked<SendToWorkers>().size(), 1u);
}

TEST(AgentPause, ALongLeaseThatIsOverIsExtendedForAnAnswerOnly) {
    AgentOptions options;
    options.lease = 900s;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    agent.wait(2s, true);
    pause(agent, 600s);
    agent.wait(200s, false);
    EXPECT_TRUE(agent.asked<SendToWorkers>().empty());
    pause(agent, 600s);
    agent.wait(9s, false);
    EXPECT_TRUE(agent.asked<SendToWorkers>().empty());
    agent.wait(2s, false);
    EXPECT_EQ(agent.asked<SendToWorkers>().size(), 1u);
}

TEST(AgentPause, TheGraceOfAStopGoesOn) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.hear(StopAttempt{0, StopHow::terminate, "", false});
    agent.wait(1s, true);
    pause(agent, 300s);
    EXPECT_EQ(agent.asked<SignalWorkers>().back().signal, SIGTERM);
    agent.wait(1s, true);
    EXPECT_EQ(agent.asked<SignalWorkers>().back().signal, SIGKILL);
    pause(agent, 300s);
    EXPECT_TRUE(agent.sent<NodeStopped>().empty());
    agent.wait(2s, true);
    EXPECT_EQ(agent.sent<NodeStopped>().at(0).processes_left, 2);
}

TEST(AgentPause, ASamplerThatWasPausedTooIsNotBlind) {
    Agent agent;
    agent.feed(ControllerConnected{});
    Welcome welcome;
    welcome.health = true;
    agent.hear(welcome);
    agent.launch(0);
    agent.wait(10s, true);
    ASSERT_EQ(agent.asked<SampleHealth>().size(), 1u);
    pause(agent, 300s);
    agent.wait(30s, true);
    EXPECT_TRUE(agent.sent<RunNotice>().empty());
    agent.wait(60s, true);
    EXPECT_EQ(agent.sent<RunNotice>().size(), 1u);
}

TEST(AgentPause, ARealSilenceIsFound) {
    Agent agent;
    agent.connect();
    agent.launch(0);
    agent.wait(400s, true);
    EXPECT_GT(most_silent_s(agent), 398);
}

}  // namespace
}  // namespace osora::daemon
