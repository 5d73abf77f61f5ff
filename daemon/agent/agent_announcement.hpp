// The start of an agent on another machine: it checks that this machine can run it, announces the
// result in one line on standard output, and from then on writes to its own log. Driven by `osorad
// agent`.
#pragma once

#include "daemon/agent/agent_start.hpp"

#include <cstdint>

namespace osora::daemon {

/// One line on standard output, as JSON.
struct AgentAnnounced {
    std::string host, boot_id;
    int pid = 0;
    std::int64_t start_ticks = 0;
    std::string error;  // why the agent cannot run here
};
BOOST_DESCRIBE_STRUCT(AgentAnnounced, (), (host, boot_id, pid, start_ticks, error))

/// Whether this machine sees the same run directory as the controller and can start the worker
/// program.
[[nodiscard]] Result<void> check_host(AgentStart const& start);

/// Whether one of the controller's addresses answers from here within some seconds.
[[nodiscard]] Result<void> check_way_to_controller(AgentAddress const& controller);

/// For `start.log`: checks, prints AgentAnnounced, and redirects standard output and error to that
/// file. Does nothing when `start.log` is empty.
[[nodiscard]] Result<void> announce_agent(AgentStart const& start);

}  // namespace osora::daemon
