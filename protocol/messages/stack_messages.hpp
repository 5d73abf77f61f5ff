// Between controller and agent when a rank hangs: what is every rank doing? Asked before anything
// is killed. Neither is a report; a lost answer is not waited for.
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

/// A rank hangs: write down what every worker of `attempt` is doing, then answer StacksTaken.
struct TakeStacks {
    static constexpr std::string_view kType = "take_stacks";
    int attempt = 0;
    double limit_s = 4;  // then the controller goes on without an answer
};
/// What a rank was found doing, from outside.
struct RankState {
    int rank = 0;
    std::string state;  // "is stopped by a signal", "runs", "waits in futex_wait_queue"
};
/// Answer to TakeStacks: they lie in RUN_DIR/stacks/ATTEMPT.
struct StacksTaken {
    static constexpr std::string_view kType = "stacks";
    int attempt = 0;
    std::vector<RankState> ranks;
};
BOOST_DESCRIBE_STRUCT(RankState, (), (rank, state))
BOOST_DESCRIBE_STRUCT(StacksTaken, (), (attempt, ranks))
BOOST_DESCRIBE_STRUCT(TakeStacks, (), (attempt, limit_s))

}  // namespace osora::protocol
