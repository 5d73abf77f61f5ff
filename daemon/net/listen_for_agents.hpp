// Opens a controller to its agents: listens where they can reach it, under TLS where others could
// pose as it, and leaves word in controller.json. Driven by the controller at its start. Private to
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
    protocol::ControllerFile file;  // addresses, port and fingerprint are filled in
};

/// Errors: nothing listens, or controller.json could not be written.
[[nodiscard]] Result<AgentAddress> listen_for_agents(AgentServer& server,
                                                     protocol::RunPaths const& paths,
                                                     AgentListenOptions door);

}  // namespace osora::daemon
