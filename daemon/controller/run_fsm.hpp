// What a run needs next, as a function of its state alone (docs/rfc/001). Pure and level-triggered:
// the controller compares the goal with what it has already asked for, so that a goal may be
// pursued again after a crash or a lost connection without harm.
#pragma once

#include "protocol/messages/agent_messages.hpp"
#include "protocol/run_status.hpp"

namespace osora::daemon {

enum class Goal {
    gather,         // an agent on every node
    order_launch,   // reserve a store, then journal LaunchOrdered of attempt + 1
    start_workers,  // of `attempt` on every node that has not started them
    watch,          // nothing but liveness
    stop_workers,   // of `attempt`, where they are not stopped; lost agents are replaced meanwhile
    end_run,        // journal RunEnded
    dismiss         // the agents, then finish
};

[[nodiscard]] Goal goal_of(protocol::RunStatus const& run);

/// How workers are to be stopped when the goal is stop_workers.
[[nodiscard]] protocol::StopHow stop_how(protocol::RunStatus const& run);

/// Whether lost or missing agents are to be (re)started.
[[nodiscard]] bool wants_agents(protocol::RunStatus const& run);

}  // namespace osora::daemon
