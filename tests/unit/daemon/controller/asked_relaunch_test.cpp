// A relaunch that a user asks for: when it stops the workers, how, and what it costs.
#include "tests/unit/daemon/controller/controller_by_hand.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

AskedRelaunch asked(bool now = false) { return {now, "alice", "new driver"}; }

int relaunch_records(Controller const& controller) {
    return static_cast<int>(std::ranges::count_if(controller.records, [](auto const& each) {
        return std::holds_alternative<RelaunchAsked>(each.event);
    }));
}

StopHow stop_sent(Controller const& controller) {
    auto const sent = controller.sent<StopAttempt>();
    EXPECT_EQ(sent.size(), 2u);
    return sent.empty() ? StopHow{} : sent.front().second.how;
}

/// Both ranks leave with a checkpoint after step 12, as asked.
void leave(Controller& controller, int attempt) {
    CheckpointCompleted saved;
    saved.attempt = attempt;
    saved.step = 12;
    controller.say(0, saved);
    for (int node : {0, 1}) controller.say(node, NodeFinished{attempt, node, 12, true});
    for (int node : {0, 1}) controller.say(node, NodeStopped{attempt, node, 0});
}

/// The agents start the ranks of `attempt`.
void launch(Controller& controller, int attempt) {
    EXPECT_EQ(controller.sent<ReserveStore>().at(0).second.attempt, attempt);
    controller.say(0, StoreReserved{attempt, "h", 29501, ""});
    EXPECT_EQ(controller.sent<LaunchWorkers>().size(), 2u);
    for (int rank : {0, 1}) controller.say(rank, Controller::started(attempt, rank));
}

TEST(AskedRelaunch, StopsAfterACheckpointAndLaunchesFromItWithoutARestart) {
    Controller controller;
    controller.run();
    controller.feed(asked());
    EXPECT_EQ(controller.state(), RunState::relaunching);
    EXPECT_EQ(stop_sent(controller), StopHow::checkpoint);
    EXPECT_EQ(controller.sent<StopAttempt>().at(0).second.reason,
              "relaunch asked by alice: new driver");
    leave(controller, 0);
    EXPECT_TRUE(controller.asked<StopAgent>().empty()) << "the agents stay";
    launch(controller, 1);
    EXPECT_EQ(controller.state(), RunState::running);
    EXPECT_EQ(controller.core.status().attempt, 1);
    EXPECT_EQ(controller.core.status().checkpoint_step, 12);
    EXPECT_EQ(controller.core.status().restarts, 0);
    EXPECT_EQ(controller.core.status().asked_relaunches, 1);
    controller.wait(70s);
    EXPECT_EQ(controller.state(), RunState::running) << "no deadline of the stop is left";
    controller.say(0, Controller::killed(1, 0));
    EXPECT_EQ(controller.core.status().restarts, 1) << "the only one is still there for a fault";
    EXPECT_EQ(controller.state(), RunState::relaunching);
}

TEST(AskedRelaunch, AsOftenAsTheUserLikes) {
    Controller controller;
    controller.run();
    for (int attempt = 0; attempt < 5; ++attempt) {
        controller.feed(asked());
        leave(controller, attempt);
        launch(controller, attempt + 1);
    }
    EXPECT_EQ(controller.state(), RunState::running);
    EXPECT_EQ(controller.core.status().restarts, 0);
    EXPECT_EQ(controller.core.status().asked_relaunches, 5);
}

TEST(AskedRelaunch, RanksThatDoNotLeaveAreKilled) {
    Controller controller;
    controller.run();
    controller.feed(asked());
    controller.wait(59500ms);
    EXPECT_TRUE(controller.core.status().asked_to_save);
    EXPECT_TRUE(controller.sent<StopAttempt>().empty());
    controller.wait(500ms);
    EXPECT_FALSE(controller.core.status().asked_to_save);
    EXPECT_EQ(stop_sent(controller), StopHow::kill);
    for (int node : {0, 1}) controller.say(node, NodeStopped{0, node, 0});
    launch(controller, 1);
    EXPECT_EQ(controller.core.status().restarts, 0);
    EXPECT_EQ(controller.core.status().asked_relaunches, 1);
}

TEST(AskedRelaunch, NowEndsTheRanksAtOnce) {
    Controller controller;
    controller.run();
    controller.feed(asked(true));
    EXPECT_EQ(stop_sent(controller), StopHow::terminate);
    for (int node : {0, 1}) controller.say(node, NodeStopped{0, node, 0});
    launch(controller, 1);
    EXPECT_EQ(controller.core.status().restarts, 0);
}

TEST(AskedRelaunch, ASecondRequestIsTheSameOneUnlessItSaysNow) {
    Controller controller;
    controller.run();
    controller.feed(asked());
    controller.feed(asked());
    EXPECT_EQ(relaunch_records(controller), 1);
    EXPECT_TRUE(controller.sent<StopAttempt>().empty());
    controller.feed(asked(true));
    EXPECT_EQ(stop_sent(controller), StopHow::terminate);
    controller.feed(asked(true));
    EXPECT_EQ(relaunch_records(controller), 2);
    EXPECT_EQ(controller.core.status().asked_relaunches, 1);
}

TEST(AskedRelaunch, NothingIsToRelaunchBeforeWorkersAreOrderedOrWhenTheRunEnds) {
    Controller controller;
    controller.feed(asked());
    EXPECT_EQ(controller.state(), RunState::allocating);
    controller.join(0);
    controller.join(1);
    controller.feed(asked());
    EXPECT_EQ(controller.state(), RunState::launching);
    EXPECT_EQ(relaunch_records(controller), 0) << "the launch is about to come";
    controller.say(0, StoreReserved{0, "h", 29500, ""});
    for (int rank : {0, 1}) controller.say(rank, Controller::started(0, rank));
    controller.say(0, Controller::killed(0, 0));
    controller.feed(asked());
    EXPECT_EQ(relaunch_records(controller), 0) << "likewise, after a fault";
    for (int node : {0, 1}) controller.say(node, NodeStopped{0, node, 0});
    launch(controller, 1);
    controller.feed(StopAsked{false, "osora cancel"});
    controller.feed(asked(true));
    EXPECT_EQ(controller.state(), RunState::finishing);
    EXPECT_EQ(controller.core.status().stop, StopMode::graceful);
    EXPECT_EQ(relaunch_records(controller), 0);
}

TEST(AskedRelaunch, WorkersThatAreStartingAreStoppedToo) {
    Controller controller;
    controller.join(0);
    controller.join(1);
    controller.say(0, StoreReserved{0, "h", 29500, ""});
    ASSERT_EQ(controller.state(), RunState::launching);
    controller.feed(asked());
    EXPECT_EQ(stop_sent(controller), StopHow::checkpoint);
    for (int node : {0, 1}) controller.say(node, NodeFinished{0, node, 0, true});
    for (int node : {0, 1}) controller.say(node, NodeStopped{0, node, 0});
    launch(controller, 1);
    EXPECT_EQ(controller.core.status().checkpoint_step, -1);
}

TEST(AskedRelaunch, ACancelMeanwhileEndsTheRunWithTheSameCheckpoint) {
    Controller controller;
    controller.run();
    controller.feed(asked());
    controller.feed(StopAsked{false, "osora cancel"});
    EXPECT_EQ(controller.state(), RunState::finishing);
    EXPECT_TRUE(controller.sent<StopAttempt>().empty()) << "the ranks are already leaving";
    leave(controller, 0);
    EXPECT_EQ(controller.core.status().verdict, Verdict::cancelled);
    EXPECT_EQ(controller.core.status().checkpoint_step, 12);
    EXPECT_TRUE(controller.sent<ReserveStore>().empty());
}

TEST(AskedRelaunch, ANewControllerContinuesIt) {
    Controller first;
    first.run();
    first.feed(asked());
    Controller second(first.records);
    EXPECT_EQ(second.core.status().incarnations, 2);
    EXPECT_TRUE(second.core.status().asked_to_save);
    for (int node : {0, 1}) {
        second.feed(AgentConnected{node});
        second.say(node, Controller::hello(node, 0));
        EXPECT_EQ(second.sent<StopAttempt>().at(0).second.how, StopHow::checkpoint);
    }
    Controller third(second.records);
    third.wait(3s, {});
    for (int node : {0, 1}) {
        third.feed(AgentConnected{node});
        third.say(node, Controller::hello(node, 0));
    }
    third.wait(6s);
    EXPECT_FALSE(third.core.status().asked_to_save) << "it does not wait for another minute";
    leave(second, 0);
    launch(second, 1);
    EXPECT_EQ(second.core.status().restarts, 0);
    EXPECT_EQ(second.core.status().asked_relaunches, 1);
}

}  // namespace
}  // namespace osora::daemon
