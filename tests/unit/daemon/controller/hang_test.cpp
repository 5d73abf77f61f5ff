#include "daemon/controller/hang.hpp"
#include "daemon/controller/liveness.hpp"
#include "daemon/controller/run_fsm.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using namespace protocol;
using namespace std::chrono_literals;

ObservedRank heartbeat(int rank, Phase phase, int step, double silent_s, double limit_s = 0) {
    return {rank / 2, {rank, phase, step, silent_s, limit_s}};
}

/// Has done step 7, its own work of step 8 (`arrived`), and is silent for longer than the limit.
ObservedRank in_step_8(int rank, bool arrived, double silent_s, bool stopped = false) {
    return {rank / 2, {rank, Phase::step, 7, silent_s, 0, arrived ? 8 : 7}, stopped};
}

TEST(Hang, LimitsByPhase) {
    EXPECT_EQ(hang_limit_s(Phase::starting, 0, {}), 120);
    EXPECT_EQ(hang_limit_s(Phase::step, 0, {}), 60);
    EXPECT_EQ(hang_limit_s(Phase::step, 0, {0, 20}), 100);
    EXPECT_EQ(hang_limit_s(Phase::checkpoint, 0, {0, 20}), 600);
    EXPECT_EQ(hang_limit_s(Phase::checkpoint, 5, {}), 5) << "as the worker asks";
    EXPECT_EQ(hang_limit_s(Phase::step, 5, {30, 20}), 30) << "the run file wins for steps";
    EXPECT_EQ(hang_limit_s(Phase::loading, 0, {30, 20}), 900);
}

TEST(Hang, NobodyIsBlamedBeforeALimitIsReached) {
    EXPECT_FALSE(find_hang({}, {}).has_value());
    EXPECT_FALSE(
        find_hang({heartbeat(0, Phase::step, 4, 59.9), heartbeat(1, Phase::loading, -1, 250)}, {})
            .has_value());
}

// Ranks 0, 2 and 3 wait for rank 1 in the collective of step 8, and one of them crosses the limit
// first.
TEST(Hang, BlamesTheRankThatLags) {
    auto const hang =
        find_hang({heartbeat(0, Phase::step, 8, 60.1), heartbeat(1, Phase::step, 7, 59.5),
                   heartbeat(2, Phase::step, 8, 59.9), heartbeat(3, Phase::step, 8, 60.0)},
                  {});
    ASSERT_TRUE(hang.has_value());
    EXPECT_EQ(hang->rank.rank, 1);
    EXPECT_EQ(hang->node, 0);
}

// All have done step 7. Rank 2 does its own work of step 8 for ever, the others wait for it; rank 3
// has waited for longest.
TEST(Hang, BlamesTheOneThatHasNotArrived) {
    auto const hang = find_hang({in_step_8(0, true, 60), in_step_8(1, true, 61),
                                 in_step_8(2, false, 60), in_step_8(3, true, 64)},
                                {});
    ASSERT_TRUE(hang.has_value());
    EXPECT_EQ(hang->rank.rank, 2);
    EXPECT_FALSE(is_waiting(hang->rank));
    EXPECT_TRUE(is_waiting(in_step_8(3, true, 64).rank));
}

// Rank 0 saves a checkpoint, which may take 600 s; the others have done step 8's work and wait.
TEST(Hang, WaitingForOneThatIsBusyIsNoHang) {
    ObservedRank saving = in_step_8(0, false, 100);
    saving.rank.phase = Phase::checkpoint;
    std::vector<ObservedRank> ranks{saving, in_step_8(1, true, 99), in_step_8(2, true, 98)};
    EXPECT_FALSE(find_hang(ranks, {}).has_value());
    ranks[0].rank.silent_s = 601;
    ASSERT_TRUE(find_hang(ranks, {}).has_value());
    EXPECT_EQ(find_hang(ranks, {})->rank.rank, 0);
}

TEST(Hang, WhenAllWaitOneIsStillBlamed) {
    auto const hang = find_hang({in_step_8(0, true, 61), in_step_8(1, true, 62)}, {});
    ASSERT_TRUE(hang.has_value());
    EXPECT_TRUE(is_waiting(hang->rank));
}

TEST(Hang, BlamesTheOneThatIsStopped) {
    auto const hang = find_hang({in_step_8(0, true, 64), in_step_8(1, true, 60, true)}, {});
    EXPECT_EQ(hang->rank.rank, 1);
}

TEST(Hang, WithoutAStepTheLongestSilentAndNotOneThatTalks) {
    auto const hang =
        find_hang({heartbeat(0, Phase::step, 8, 60.1), heartbeat(1, Phase::step, 8, 62),
                   heartbeat(2, Phase::step, 3, 0.5)},
                  {});
    EXPECT_EQ(hang->rank.rank, 1);
}

TEST(Liveness, CountsFromTheLastMessageAndForgivesItsOwnPause) {
    Liveness liveness(2, 0s);
    liveness.heard(1, 3s);
    EXPECT_EQ(liveness.deadline(0), 4s);
    EXPECT_EQ(liveness.deadline(1), 7s);
    EXPECT_EQ(liveness.silence(1, 5s), 2s);
    liveness.forgive(10s);
    EXPECT_EQ(liveness.deadline(0), 14s);
}

TEST(RunFsm, EveryStateHasItsGoal) {
    RunStatus run;
    run.nodes.resize(1);
    auto goal_in = [&](RunState state) {
        run.state = state;
        return goal_of(run);
    };
    EXPECT_EQ(goal_in(RunState::submitted), Goal::gather);
    EXPECT_EQ(goal_in(RunState::allocating), Goal::gather);
    EXPECT_EQ(goal_in(RunState::launching), Goal::order_launch);
    EXPECT_EQ(goal_in(RunState::relaunching), Goal::gather);
    EXPECT_EQ(goal_in(RunState::finishing), Goal::end_run);
    run.ordered = true;
    run.nodes[0].stopped = false;
    EXPECT_EQ(goal_in(RunState::launching), Goal::start_workers);
    EXPECT_EQ(goal_in(RunState::running), Goal::watch);
    EXPECT_EQ(goal_in(RunState::relaunching), Goal::stop_workers);
    EXPECT_EQ(stop_how(run), StopHow::terminate);
    EXPECT_EQ(goal_in(RunState::finishing), Goal::stop_workers);
    EXPECT_FALSE(wants_agents(run));
    run.stop = StopMode::graceful;
    EXPECT_EQ(stop_how(run), StopHow::checkpoint);
    EXPECT_EQ(goal_in(RunState::done), Goal::dismiss);
}

}  // namespace
}  // namespace osora::daemon
