// What a run needs next, as a function of its state alone (docs/rfc/001). Pure and level-triggered:
// the controller compares the goal with what it has already requested, so that it can safely pursue
// a goal again after a crash or a lost connection.
#pragma once

#include "protocol/messages/agent_messages.hpp"
#include "protocol/run_status.hpp"

namespace osora::daemon {

enum class Goal {
    gather,         // an agent on every node
    order_launch,   // reserve a store, then journal LaunchOrdered of attempt + 1
    start_workers,  // of `attempt` on every node that has not started them
    watch,          // check liveness only
    stop_workers,   // of `attempt`, where they still run; lost agents are replaced meanwhile
    end_run,        // journal RunEnded
    dismiss         // the agents, then finish
};

[[nodiscard]] Goal goal_of(protocol::RunStatus const& run);

/// How to stop workers when the goal is stop_workers.
[[nodiscard]] protocol::StopHow stop_how(protocol::RunStatus const& run);

/// Whether to (re)start lost or missing agents.
[[nodiscard]] bool wants_agents(protocol::RunStatus const& run);

}  // namespace osora::daemon
