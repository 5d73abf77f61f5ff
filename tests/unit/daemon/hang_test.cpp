#include "daemon/hang.hpp"
#include "daemon/liveness.hpp"
#include "daemon/run_fsm.hpp"

#include <gtest/gtest.h>

namespace osora::daemon {
namespace {

using namespace protocol;
using namespace std::chrono_literals;

NodePulse pulse(int rank, Phase phase, int step, double silent_s, double limit_s = 0) {
    return {rank / 2, {rank, phase, step, silent_s, limit_s}};
}

TEST(Hang, LimitsByPhase) {
    EXPECT_EQ(hang_limit_s(Phase::starting, 0, {}), 120);
    EXPECT_EQ(hang_limit_s(Phase::step, 0, {}), 60);
    EXPECT_EQ(hang_limit_s(Phase::step, 0, {0, 20}), 100);
    EXPECT_EQ(hang_limit_s(Phase::checkpoint, 0, {0, 20}), 600);
    EXPECT_EQ(hang_limit_s(Phase::checkpoint, 5, {}), 5) << "as the worker asks";
    EXPECT_EQ(hang_limit_s(Phase::step, 5, {30, 20}), 30) << "the run file wins for steps";
    EXPECT_EQ(hang_limit_s(Phase::loading, 0, {30, 20}), 300);
}

TEST(Hang, NobodyIsBlamedBeforeALimitIsReached) {
    EXPECT_FALSE(find_hang({}, {}).has_value());
    EXPECT_FALSE(find_hang({pulse(0, Phase::step, 4, 59.9), pulse(1, Phase::loading, -1, 250)}, {})
                     .has_value());
}

// Ranks 0, 2 and 3 wait for rank 1 in the collective of step 8, and one of them crosses the limit
// first.
TEST(Hang, BlamesTheOneThatIsBehind) {
    auto const hang = find_hang({pulse(0, Phase::step, 8, 60.1), pulse(1, Phase::step, 7, 59.5),
                                 pulse(2, Phase::step, 8, 59.9), pulse(3, Phase::step, 8, 60.0)},
                                {});
    ASSERT_TRUE(hang.has_value());
    EXPECT_EQ(hang->rank.rank, 1);
    EXPECT_EQ(hang->node, 0);
}

TEST(Hang, WithoutAStepTheLongestSilentAndNotOneThatTalks) {
    auto const hang = find_hang({pulse(0, Phase::step, 8, 60.1), pulse(1, Phase::step, 8, 62),
                                 pulse(2, Phase::step, 3, 0.5)},
                                {});
    EXPECT_EQ(hang->rank.rank, 1);
}

TEST(Liveness, CountsFromTheLastWordAndForgivesItsOwnPause) {
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
    run.stop = StopMode::orderly;
    EXPECT_EQ(stop_how(run), StopHow::checkpoint);
    EXPECT_EQ(goal_in(RunState::done), Goal::dismiss);
}

}  // namespace
}  // namespace osora::daemon
