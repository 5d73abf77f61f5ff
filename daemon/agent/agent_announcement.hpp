// An agent that is started on another machine takes its post: looks whether this machine can do
// what is asked of it, says so in one line on standard output, and then writes to its own log.
// Driven by `osorad agent`.
#pragma once

#include "daemon/agent/agent_start.hpp"

#include <cstdint>

namespace osora::daemon {

/// One line on standard output, as JSON.
struct AgentAnnounced {
    std::string host, boot_id;
    int pid = 0;
    std::int64_t start_ticks = 0;
    std::string error;  // why it does not take the post
};
BOOST_DESCRIBE_STRUCT(AgentAnnounced, (), (host, boot_id, pid, start_ticks, error))

/// Whether this machine sees the run directory, the very one, and can start the worker program.
[[nodiscard]] Result<void> check_host(AgentStart const& start);

/// Whether one of the controller's addresses answers from here, within some seconds.
[[nodiscard]] Result<void> check_way_to_controller(AgentAddress const& controller);

/// For `start.log`: checks, says AgentAnnounced, and sends standard output and error to that file.
/// Nothing happens without it.
[[nodiscard]] Result<void> announce_agent(AgentStart const& start);

}  // namespace osora::daemon
