#include "cli/run/follow/follow_core.hpp"

#include "tests/unit/cli/run/follow/views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using testing::HasSubstr;

/// A run of 2 ranks that this process follows.
class FollowCoreTest : public testing::Test {
protected:
    void start(FollowRules rules) {
        rules.number = 42;
        core_ = FollowCore(rules);
        core_.fold(story_.submitted(2, 100));
        for (auto const& each : story_.launch(0.2, 0, 2, 0)) core_.fold(each);
    }
    void steps(int first, int count) { core_.fold(story_.steps(first, 0, 2, {first, count}, {})); }
    void stop_requested() { core_.fold(story_.record(9, protocol::StopRequested{})); }

    Story story_;
    FollowCore core_{{}};
};

TEST_F(FollowCoreTest, CtrlCStopsOnceThenNowThenLeaves) {
    start({.is_mine = true});
    EXPECT_FALSE(core_.stop_due());
    EXPECT_THAT(core_.interrupt(), HasSubstr("after this step, with a checkpoint"));
    EXPECT_FALSE(core_.stop_due()->now);
    EXPECT_TRUE(core_.stop_due()) << "no controller has accepted it";
    core_.stop_accepted();
    EXPECT_FALSE(core_.stop_due());
    EXPECT_EQ(core_.interrupt(), "stopping now");
    EXPECT_TRUE(core_.stop_due()->now);
    EXPECT_FALSE(core_.has_left());
    EXPECT_THAT(core_.interrupt(), HasSubstr("the controller ends the run"));
    EXPECT_TRUE(core_.has_left());
}

TEST_F(FollowCoreTest, CtrlCLeavesARunThatIsOnlyWatched) {
    start({});
    EXPECT_THAT(core_.interrupt(), HasSubstr("osora watch 42, osora cancel 42"));
    EXPECT_TRUE(core_.has_left());
    EXPECT_FALSE(core_.stop_due());
}

TEST_F(FollowCoreTest, TheAnswerToCtrlCIsShownToProgramsOnly) {
    auto const answer = story_.record(1, protocol::StopRequested{});
    for (bool const json : {false, true}) {
        start({.is_mine = true, .json = json});
        EXPECT_TRUE(core_.is_shown(answer)) << "somebody else asked";
        (void)core_.interrupt();
        EXPECT_EQ(core_.is_shown(answer), json);
    }
    EXPECT_FALSE(core_.is_shown(story_.steps(1, 0, 2, {0, 1}, {}))) << "a measurement";
}

TEST_F(FollowCoreTest, KnownRecordsAreNoNews) {
    core_ = FollowCore({.known_records = 2});
    auto const first = story_.submitted(2, 100);
    EXPECT_FALSE(core_.is_shown(first));
    core_.fold(first);
    core_.fold(story_.record(1, protocol::ControllerStarted{}));
    EXPECT_FALSE(core_.has_begun());
    protocol::ControllerStarted second;
    second.incarnation = 1;
    core_.fold(story_.record(2, second));
    EXPECT_TRUE(core_.has_begun());
    core_.continues();
    EXPECT_FALSE(core_.has_begun());
}

TEST_F(FollowCoreTest, ATimedRunIsStoppedAfterEnoughSteps) {
    start({.is_mine = true, .enough_steps = 5});
    steps(10, 5);
    EXPECT_EQ(core_.stop_due()->reason, "5 steps are enough");
    EXPECT_FALSE(core_.is_timed()) << "the controller has not accepted it";
    core_.stop_accepted();
    EXPECT_TRUE(core_.is_timed());
    EXPECT_FALSE(core_.may_continue());
    EXPECT_FALSE(core_.stop_due());
    (void)core_.interrupt();
    EXPECT_FALSE(core_.is_timed()) << "the user stopped it";
}

TEST_F(FollowCoreTest, FewerStepsAreNotEnough) {
    start({.is_mine = true, .enough_steps = 5});
    steps(10, 4);
    EXPECT_FALSE(core_.stop_due());
}

TEST_F(FollowCoreTest, ARunThatEndedBadlyMayContinueInAnotherJob) {
    start({.is_mine = true});
    EXPECT_FALSE(core_.is_over());
    protocol::RunEnded ended;
    ended.verdict = protocol::Verdict::node_fault;
    core_.fold(story_.record(9, ended));
    EXPECT_TRUE(core_.is_over());
    EXPECT_TRUE(core_.may_continue());
    (void)core_.interrupt();
    EXPECT_FALSE(core_.may_continue());
}

TEST_F(FollowCoreTest, WhatALostControllerLeaves) {
    EXPECT_EQ(core_.lost_text("it is gone", ""), "it is gone");
    EXPECT_EQ(core_.lost_text("it is gone", "osorad: no space"), "it is gone:\nosorad: no space");
    start({.is_mine = true});
    EXPECT_EQ(core_.lost_text("it is gone", "x"),
              "it is gone\nits ranks end within 5 s; osora resume 42 continues from the start");
    protocol::CheckpointCompleted saved;
    saved.step = 50;
    core_.fold(story_.record(9, saved));
    EXPECT_THAT(core_.lost_text("", ""), HasSubstr("continues from checkpoint 50"));
}

}  // namespace
}  // namespace osora::cli
