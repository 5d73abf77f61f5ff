// Opens a controller to its agents: listens where they can reach it, with TLS where another program
// could pose as it, and writes controller.json. Driven by the controller at its start. Private to
// shells (Asio inside).
#pragma once

#include "daemon/agent/agent_start.hpp"
#include "daemon/net/agent_server.hpp"
#include "protocol/controller_file.hpp"
#include "protocol/run_directory.hpp"

namespace osora::daemon {

struct AgentListenOptions {
    bool everywhere = false;  // agents come from other machines
    bool tls = false;
    int wanted_port = 0;
    protocol::ControllerFile file;  // addresses, port and fingerprint are set later
};

/// Errors: cannot listen, or cannot write controller.json.
[[nodiscard]] Result<AgentAddress> listen_for_agents(AgentServer& server,
                                                     protocol::RunPaths const& paths,
                                                     AgentListenOptions door);

}  // namespace osora::daemon
