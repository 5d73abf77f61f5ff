#include "tests/unit/daemon/controller/controller_by_hand.hpp"

#include "daemon/agent/agent_core.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace osora::daemon {
namespace {

TEST(ControllerCore, JournalsBeforeItActs) {
    Controller controller;
    ASSERT_EQ(controller.last.size(), 5u);
    for (std::size_t i : {0u, 1u, 2u}) {
        auto const& record = std::get<AppendRecord>(controller.last[i]);
        EXPECT_EQ(record.record.sequence, i);
        EXPECT_EQ(record.record.event.index(), i) << "submitted, plan, controller";
        EXPECT_EQ(record.record.wall_us, 5);
    }
    EXPECT_EQ(controller.asked<StartAgent>().size(), 2u);
    controller.join(0);
    controller.join(1);
    EXPECT_EQ(controller.sent<ReserveStore>().size(), 1u);
    controller.say(0, StoreReserved{0, "h", 29500, ""});
    ASSERT_EQ(controller.last.size(), 3u);
    EXPECT_TRUE(std::holds_alternative<AppendRecord>(controller.last[0])) << "LaunchOrdered first";
    auto const launches = controller.sent<LaunchWorkers>();
    EXPECT_EQ(launches.at(1).second.first_rank, 1);
    EXPECT_EQ(launches.at(1).second.store_port, 29500);
    EXPECT_EQ(launches.at(1).second.world_size, 2);
}

TEST(ControllerCore, RefusesStrangers) {
    auto refused = [](auto change) {
        Controller controller;
        controller.feed(AgentConnected{7});
        AgentHello hello = Controller::hello(0);
        change(hello);
        controller.say(7, hello);
        EXPECT_EQ(controller.asked<CloseConnection>().size(), 1u);
        EXPECT_TRUE(controller.asked<AppendRecord>().empty());
        auto const reasons = controller.sent<Refused>();
        return reasons.empty() ? "" : reasons.front().second.reason;
    };
    EXPECT_EQ(refused([](AgentHello& h) { h.token = "secreu"; }), "wrong token");
    EXPECT_EQ(refused([](AgentHello& h) { h.token.clear(); }), "wrong token");
    EXPECT_EQ(refused([](AgentHello& h) { h.protocol = 9; }),
              "the agent speaks protocol 9, this controller 2");
    EXPECT_EQ(refused([](AgentHello& h) { h.node = 2; }), "node 2; this run has 2");
    EXPECT_EQ(refused([](AgentHello& h) { h.node = -1; }), "node -1; this run has 2");
    EXPECT_EQ(refused([](AgentHello& h) { h.attempt = 4; }), "attempt 4 was never ordered");
}

TEST(ControllerCore, ASecondAgentOfANodeIsRefused) {
    Controller controller;
    controller.join(0);
    controller.feed(AgentConnected{7});
    controller.say(7, Controller::hello(0, -1, 999));
    EXPECT_EQ(controller.sent<Refused>().at(0).second.reason, "node 0 already has another agent");
    // At once: it hangs up when it reads this, and then its connection would not be logged.
    EXPECT_FALSE(controller.asked<CloseConnection>().at(0).waits);
}

TEST(ControllerCore, ConnectionsWithoutAHelloAreClosed) {
    Controller controller;
    controller.feed(AgentConnected{7});
    controller.say(7, Heartbeat{});
    EXPECT_EQ(controller.asked<CloseConnection>().at(0).why, "no hello");
    controller.feed(AgentConnected{8});
    controller.now = controller.core.next_deadline();
    controller.feed(Tick{});
    EXPECT_EQ(controller.asked<CloseConnection>().at(0).connection, 8);
    for (int i = 0; i < 1000; ++i) controller.feed(AgentConnected{100 + i});
    EXPECT_EQ(controller.asked<CloseConnection>().at(0).why, "too many connections");
}

TEST(ControllerCore, ReportsAreAcknowledgedAfterTheirRecords) {
    Controller controller;
    controller.run();
    controller.say(1, Controller::killed(0, 1));
    ASSERT_GE(controller.last.size(), 2u);
    EXPECT_TRUE(std::holds_alternative<AppendRecord>(controller.last[0]));
    EXPECT_EQ(controller.sent<AckReports>().at(0).second.next, 2u);
    EXPECT_EQ(controller.state(), RunState::relaunching);
    EXPECT_EQ(controller.sent<StopAttempt>().size(), 2u);
}

TEST(ControllerCore, RepeatedReportsAreTakenOnce) {
    Controller controller;
    controller.run();
    RunNotice notice;
    notice.attempt = 0;
    controller.say(1, notice);
    std::size_t const count = controller.records.size();
    controller.feed(AgentDisconnected{1});
    controller.feed(AgentConnected{11});
    controller.say(11, Controller::hello(1, 0));  // first_report 0: no acknowledgement had arrived
    controller.say(11, Controller::started(0, 1));
    controller.say(11, notice);
    EXPECT_EQ(controller.records.size(), count);
    controller.say(11, notice);
    EXPECT_EQ(controller.records.size(), count + 1);
    EXPECT_EQ(controller.sent<AckReports>().at(0).second.next, 3u);
}

TEST(ControllerCore, FalseReportsOfAnAgentChangeNothing) {
    Controller controller;
    controller.run();
    std::size_t const count = controller.records.size();
    MetricChunk chunk;
    chunk.bucket.assign(3, "b");
    chunk.samples.assign(3, 1);
    chunk.columns["loss"].mean.assign(2, 1.0);
    controller.say(1, chunk);                     // columns of different lengths
    controller.say(1, Controller::killed(0, 0));  // a rank of another node
    controller.say(1, Controller::killed(5, 1));  // an attempt that never was
    controller.say(1, Controller::started(0, -7));
    controller.say(1, NodeStopped{-1, 1, 0});
    EXPECT_EQ(controller.records.size(), count);
    CheckpointCompleted checkpoint;
    controller.say(1, checkpoint);
    NodeFinished finished;
    finished.node = 0;  // it is node 1
    controller.say(1, finished);
    EXPECT_EQ(std::get<NodeFinished>(controller.records.back().event).node, 1);
}

TEST(ControllerCore, AnAgentThatFallsSilentIsReplaced) {
    Controller controller;
    controller.run();
    controller.wait(3500ms, {0});
    EXPECT_EQ(controller.state(), RunState::running);
    controller.wait(500ms, {0});
    EXPECT_EQ(controller.state(), RunState::relaunching);
    EXPECT_EQ(controller.core.status().cause, "node 1 fell silent for 4.0 s");
    EXPECT_EQ(controller.asked<StopAgent>().at(0).pid, 101);
    controller.say(0, NodeStopped{0, 0, 0});
    controller.feed(AgentExited{1, 1, 0, SIGKILL, 0, ""});
    EXPECT_EQ(controller.asked<StartAgent>().at(0).agent_number, 2);
    controller.feed(AgentConnected{8});
    controller.say(8, Controller::hello(1, 0, 101));
    EXPECT_EQ(controller.sent<Refused>().at(0).second.reason, "node 1 was given up and replaced");
    controller.feed(AgentConnected{9});
    controller.say(9, Controller::hello(1, -1, 202));
    EXPECT_EQ(controller.sent<ReserveStore>().at(0).second.attempt, 1);
}

TEST(ControllerCore, AControllerThatSleptBlamesNobody) {
    Controller controller;
    controller.run();
    controller.wait(1s);
    controller.now += 30s;
    controller.feed(Tick{});
    EXPECT_EQ(controller.state(), RunState::running);
    controller.wait(5s);
    EXPECT_EQ(controller.state(), RunState::running);
    controller.wait(5s, {0});
    EXPECT_EQ(controller.state(), RunState::relaunching);
}

TEST(ControllerCore, EndsWithEveryAgentGone) {
    Controller controller;
    controller.run();
    for (int node : {0, 1}) controller.say(node, NodeFinished{0, node, 9, false});
    EXPECT_EQ(controller.sent<StopAttempt>().size(), 2u)
        << "that nothing is left is always checked";
    controller.say(0, NodeStopped{0, 0, 0});
    controller.say(1, NodeStopped{0, 1, 0});
    EXPECT_EQ(controller.sent<Dismiss>().size(), 2u);
    EXPECT_EQ(std::get<RunEnded>(controller.records.back().event).verdict, Verdict::ok);
    controller.feed(AgentExited{0, 1, 0, 0, 0, ""});
    EXPECT_TRUE(controller.asked<Finish>().empty());
    controller.feed(AgentExited{1, 1, 0, 0, 0, ""});
    EXPECT_EQ(controller.asked<Finish>().at(0).exit_code, 0);
    EXPECT_EQ(controller.core.next_deadline(), kNever);
}

TEST(ControllerCore, AnAgentThatCannotBeStartedEndsTheRun) {
    Controller controller;
    controller.feed(AgentExited{0, 1, 0, 0, 0, "osorad: no such file"});
    EXPECT_EQ(controller.asked<StartAgent>().at(0).agent_number, 2);
    controller.feed(AgentExited{0, 2, 0, 0, 0, "osorad: no such file"});
    EXPECT_EQ(controller.core.status().cause,
              "node 0 was lost: agent could not be started: osorad: no such file");
    EXPECT_EQ(controller.state(), RunState::done);
}

TEST(ControllerCore, AnAgentThatCannotConnectIsRestartedUntilItsTimeIsOver) {
    Controller controller;
    controller.join(1);
    int attempts = 1;
    while (controller.state() == RunState::allocating) {
        controller.wait(5s, {1});
        if (controller.state() != RunState::allocating) break;
        controller.feed(AgentExited{0, attempts++, kAgentUnreachable, 0, 0, ""});
    }
    EXPECT_EQ(controller.core.status().cause, "node 0 was lost: agent did not join within 60 s");
    EXPECT_EQ(attempts, 12);
    EXPECT_EQ(controller.core.status().restarts, 1);
}

TEST(ControllerCore, WithoutAJournalNothingIsDecidedAndNothingIsLeft) {
    Controller controller;
    controller.run();
    controller.feed(JournalFailed{"no space left on device"});
    auto const dismissed = controller.asked<SendToAgent>();
    ASSERT_EQ(dismissed.size(), 2u);
    EXPECT_FALSE(dismissed[0].waits);
    controller.feed(StopAsked{true, "x"});
    EXPECT_TRUE(controller.asked<AppendRecord>().empty());
    controller.feed(AgentExited{0, 1, 0, 0, 0, ""});
    controller.feed(AgentExited{1, 1, 0, 0, 0, ""});
    EXPECT_EQ(controller.asked<Finish>().at(0).exit_code, 1);
    EXPECT_EQ(controller.asked<Finish>().at(0).message, "journal: no space left on device");
}

TEST(ControllerCore, ANewIncarnationAdoptsLivingAgentsAndReplacesDeadOnes) {
    Controller first;
    first.run();
    Controller second(first.records);
    EXPECT_EQ(second.core.status().incarnations, 2);
    EXPECT_TRUE(second.asked<StartAgent>().empty()) << "they may come back";
    second.feed(AgentConnected{0});
    second.say(0, Controller::hello(0, 0));
    EXPECT_TRUE(second.asked<AppendRecord>().empty()) << "it has joined before";
    EXPECT_EQ(second.sent<Welcome>().at(0).second.incarnation, 1);
    second.wait(6s, {0});
    EXPECT_EQ(second.core.status().cause, "node 1 was lost: agent did not come back within 6 s");
    StopAgent const stop = second.asked<StopAgent>().at(0);
    EXPECT_EQ(stop.agent_number, 0);
    EXPECT_EQ(stop.pid, 101);
}

// A crash after each record: the next incarnation reaches the same state and continues from there.
TEST(ControllerCore, ReplayGivesTheSameStateAfterEveryRecord) {
    Controller controller;
    controller.run();
    controller.say(1, Controller::killed(0, 1));
    controller.say(0, NodeStopped{0, 0, 0});
    controller.say(1, NodeStopped{0, 1, 0});
    controller.say(0, StoreReserved{1, "h", 29501, ""});
    for (int rank : {0, 1}) controller.say(rank, Controller::started(1, rank));
    controller.feed(StopAsked{true, "osora cancel"});
    for (int node : {0, 1}) controller.say(node, NodeStopped{1, node, 0});
    ASSERT_EQ(controller.state(), RunState::done);
    RunStatus folded;
    for (std::size_t i = 0; i < controller.records.size(); ++i) {
        fold(folded, controller.records[i].event);
        std::vector<JournalRecord> const part(
            controller.records.begin(), controller.records.begin() + static_cast<long>(i) + 1);
        Controller next(part, false);
        EXPECT_EQ(next.core.status(), folded) << "after record " << i;
        next.take(next.core.start({next.now, 5}));
        if (folded.state == RunState::done) {
            EXPECT_EQ(next.asked<StopAgent>().size(), 2u);
        } else {
            bool const ends = folded.state == RunState::finishing && all_stopped(folded);
            EXPECT_EQ(next.records.size(), std::max<std::size_t>(i + (ends ? 3 : 2), 3));
        }
    }
    EXPECT_EQ(folded, controller.core.status());
}

TEST(ControllerCore, APortThatCannotBeBoundIsNamed) {
    Controller controller;
    controller.join(0);
    controller.join(1);
    controller.say(0, StoreReserved{0, "", 0, "Address already in use"});
    EXPECT_EQ(controller.core.status().cause,
              "node 0 was lost: no port for the store: Address already in use");
}

TEST(ControllerCore, StrangersThatSayNothingDoNotKeepAnAgentOut) {
    Controller controller;
    for (int i = 0; i < 90; ++i) controller.feed(AgentConnected{100 + i, "127.0.0.1"});
    EXPECT_EQ(controller.asked<CloseConnection>().at(0).connection, 100 + 89 - 66)
        << "the oldest one";
    controller.feed(AgentConnected{500, "127.0.0.1"});
    for (CloseConnection const& each : controller.asked<CloseConnection>()) {
        EXPECT_NE(each.connection, 500);
    }
    controller.say(500, Controller::hello(0));
    EXPECT_EQ(controller.sent<Welcome>().size(), 1u);
}

TEST(ControllerCore, AnAddressThatFillsAllPlacesLosesThem) {
    Controller controller;
    controller.feed(AgentConnected{7, "10.0.0.7"});
    for (int i = 0; i < 300; ++i) {
        controller.feed(AgentConnected{100 + i, "10.0.0.66"});
        for (CloseConnection const& each : controller.asked<CloseConnection>()) {
            EXPECT_NE(each.connection, 7);
        }
    }
    controller.say(7, Controller::hello(0));
    EXPECT_EQ(controller.sent<Welcome>().size(), 1u);
}

TEST(ControllerCore, NoticesOfOneKindAreRationedAndCounted) {
    Controller controller;
    controller.run();
    RunNotice notice;
    notice.attempt = 0;
    notice.rank = 1;
    notice.kind = "clip_skipped";
    auto const kept = [&](std::string const& kind) {
        return std::ranges::count_if(controller.records, [&](JournalRecord const& each) {
            auto const* found = std::get_if<RunNotice>(&each.event);
            return found != nullptr && found->kind == kind;
        });
    };
    for (notice.step = 0; notice.step < 5000; ++notice.step) controller.say(1, notice);
    EXPECT_EQ(kept("clip_skipped"), 20);
    notice.kind = "nan";
    controller.say(1, notice);
    EXPECT_EQ(kept("nan"), 1) << "another kind has a separate allowance";
    notice.kind = "clip_skipped";
    notice.rank = 0;
    controller.say(0, notice);
    EXPECT_EQ(kept("clip_skipped"), 21) << "another rank as well";
    controller.wait(61s);
    notice.rank = 1;
    controller.say(1, notice);
    EXPECT_EQ(kept("clip_skipped"), 22) << "one a minute";
    EXPECT_EQ(kept("notices_left_out"), 0);
    NodeFinished finished;
    finished.attempt = 0;
    controller.say(1, finished);
    ASSERT_EQ(kept("notices_left_out"), 1);
    for (JournalRecord const& each : controller.records) {
        auto const* found = std::get_if<RunNotice>(&each.event);
        if (found == nullptr || found->kind != "notices_left_out") continue;
        EXPECT_EQ(
            found->detail,
            "4,980 notices \"clip_skipped\" of 1 rank were left out: at most 20 of a rank are "
            "kept at once, then one a minute");
    }
}

TEST(ControllerCore, ManyKindsOfNoticesShareAnAllowance) {
    Controller controller;
    controller.run();
    std::size_t const before = controller.records.size();
    RunNotice notice;
    notice.attempt = 0;
    notice.detail = std::string(100'000, 'x');
    for (int i = 0; i < 5000; ++i) {
        notice.kind = std::to_string(i) + std::string(1000, 'k');
        controller.say(1, notice);
    }
    EXPECT_LE(controller.records.size() - before, 256u + 20);
    auto const& last = std::get<RunNotice>(controller.records.back().event);
    EXPECT_LE(last.kind.size(), 64u);
    EXPECT_LE(last.detail.size(), 4096u);
}

TEST(ControllerCore, SecondsFromAnAgentAreLimited) {
    Controller controller;
    controller.run();
    for (double const odd : {std::nan(""), -HUGE_VAL, HUGE_VAL, 1e300}) {
        Heartbeat beat;
        beat.attempt = 0;
        beat.ranks.resize(1);
        beat.ranks[0].rank = 1;
        beat.ranks[0].limit_s = beat.ranks[0].silent_s = odd;
        controller.say(1, beat);
    }
}

}  // namespace
}  // namespace osora::daemon
