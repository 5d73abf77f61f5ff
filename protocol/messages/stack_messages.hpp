// Messages between controller and agent when a rank hangs: what is every rank doing? Sent before
// anything is killed. Neither is a report; nobody waits for a lost answer.
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
    double limit_s = 4;  // after it the controller continues without an answer
};
/// The state of a rank, seen from outside.
struct RankState {
    int rank = 0;
    std::string state;  // "is stopped by a signal", "runs", "waits in futex_wait_queue"
};
/// Answer to TakeStacks: the stacks are in RUN_DIR/stacks/ATTEMPT.
struct StacksTaken {
    static constexpr std::string_view kType = "stacks";
    int attempt = 0;
    std::vector<RankState> ranks;
};
BOOST_DESCRIBE_STRUCT(RankState, (), (rank, state))
BOOST_DESCRIBE_STRUCT(StacksTaken, (), (attempt, ranks))
BOOST_DESCRIBE_STRUCT(TakeStacks, (), (attempt, limit_s))

}  // namespace osora::protocol
