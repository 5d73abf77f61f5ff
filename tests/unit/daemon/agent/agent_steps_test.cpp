// How an agent handles programs that report too much, and invalid numbers.
#include "tests/unit/daemon/agent/agent_by_hand.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::daemon {
namespace {

TEST(AgentCore, ReportsThatCameTooFastAreCountedInOneNotice) {
    AgentOptions options;
    options.exec = true;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    for (int i = 0; i < 3; ++i) {
        agent.feed(StepsLeftOut{0, 2, 1 << 20, 400});
        agent.feed(StepsLeftOut{0, 3, 0, 50});
        agent.wait(2s, true);
    }
    EXPECT_TRUE(agent.sent<RunNotice>().empty());
    agent.exit(2, 0);
    agent.exit(3, 0);
    auto const notices = agent.sent<RunNotice>();
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].kind, "steps_left_out");
    EXPECT_EQ(notices[0].detail,
              "1,350 steps and 3.00 MiB of the logs were left out since the launch, because they "
              "came faster than steps are read and kept; the logs themselves are whole");
}

TEST(AgentCore, ARunThatContinuesReportsItRarely) {
    AgentOptions options;
    options.exec = true;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    for (int i = 0; i < 3600; ++i) {
        agent.feed(StepsLeftOut{0, 2, 1000, 10});
        agent.wait(10s, true);
    }
    EXPECT_GE(agent.sent<RunNotice>().size(), 3u);
    EXPECT_LE(agent.sent<RunNotice>().size(), 8u) << "in ten hours";
}

TEST(AgentCore, AProgramThatPrintsForTenMinutesWithoutAStepIsReported) {
    AgentOptions options;
    options.exec = true;
    options.lease = 7200s;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    for (int minute = 0; minute < 10; ++minute) {
        agent.feed(OutputRead{0, 2});
        agent.feed(OutputRead{7, 2});  // of another attempt
        agent.wait(60s, true);
    }
    EXPECT_TRUE(agent.sent<RunNotice>().empty());
    for (int minute = 0; minute < 60; ++minute) {
        agent.feed(OutputRead{0, 3});
        agent.wait(60s, true);
    }
    auto const notices = agent.sent<RunNotice>();
    ASSERT_EQ(notices.size(), 1u) << "once";
    EXPECT_EQ(notices[0].kind, "no_steps_found");
    EXPECT_EQ(notices[0].node, 1);
    EXPECT_NE(notices[0].detail.find("in 10 min of output so far; osora exec-steps LOG"),
              std::string::npos);
}

TEST(AgentCore, AProgramThatHasReportedAStepIsNotReported) {
    AgentOptions options;
    options.exec = true;
    options.lease = 7200s;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    agent.feed(OutputRead{0, 2});
    agent.wait(300s, true);
    SaidStep said;
    said.said = {"loss"};
    agent.feed(WorkerStepped{0, 3, std::move(said)});
    for (int minute = 0; minute < 60; ++minute) {
        agent.feed(OutputRead{0, 2});
        agent.wait(60s, true);
    }
    EXPECT_TRUE(agent.sent<RunNotice>().empty()) << "one rank is enough";
}

TEST(AgentCore, StepsWithGapsDoNotPileUp) {
    AgentOptions options;
    options.exec = true;
    options.lease = 3600s;
    Agent agent(options);
    agent.connect();
    agent.launch(0);
    for (int i = 0; i < 20'000; ++i) {
        SaidStep said;
        said.metrics.step = 1000 * i;
        said.said = {"loss"};
        agent.feed(WorkerStepped{0, 2 + i % 2, std::move(said)});
        if (i % 100 == 0) agent.wait(1s, true);
    }
    agent.exit(2, 0);
    agent.exit(3, 0);
    EXPECT_LE(agent.sent<MetricChunk>().size(), 600u + 200 * 8);
    EXPECT_GT(agent.sent<MetricChunk>().back().step0, 19'000'000) << "the newest are kept";
    auto const notices = agent.sent<RunNotice>();
    ASSERT_EQ(notices.size(), 1u);
    EXPECT_EQ(notices[0].kind, "steps_left_out");
}

TEST(AgentCore, LimitsFromTheWireAreClampedToWhatAClockCanHold) {
    for (double const limit_s : {std::nan(""), -1.0, 0.0, 1e300, HUGE_VAL, 7.0}) {
        Agent agent;
        agent.connect();
        agent.launch(0);
        agent.hear(TakeStacks{0, limit_s});
        double const taken_s = agent.asked<TakeStacksOf>().at(0).limit_s;
        EXPECT_GT(taken_s, 0) << limit_s;
        EXPECT_LE(taken_s, 3600) << limit_s;
        EXPECT_TRUE(limit_s != 7 || taken_s == 7);
        agent.say(3, PhaseChanged{Phase::loading, limit_s});
        agent.wait(1s, true);
        double const said_s = agent.sent<Heartbeat>().back().ranks[1].limit_s;
        EXPECT_GE(said_s, 0) << limit_s;
        EXPECT_LE(said_s, 1e9) << limit_s;
    }
}

}  // namespace
}  // namespace osora::daemon
