// The backend of a run, and what it means for the controller: who must reach it, and what happens
// to its agents when it dies. Private to shells.
#pragma once

#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/agent/agent_start.hpp"
#include "daemon/backends/backend.hpp"
#include "plan/config/run_config.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace osora::daemon {

struct BackendTraits {
    bool other_hosts = false;     // agents run on other machines: listen on every address
    bool outlive = false;         // agents survive their controller for the lease
    MonotonicTime lease = 30s;    // docs/rfc/002
    MonotonicTime adopt_limit{};  // how long a new incarnation of the controller waits for them
    MonotonicTime agent_stop_limit = 12s;

    /// Another program could listen at the controller's address: agents must verify its identity.
    [[nodiscard]] bool needs_tls() const { return other_hosts || outlive; }
};

/// invalid_input: no such backend. `supervised`: `osorad serve` restarts the controller when it
/// dies, so that agents on this machine may wait for it, too. Pure.
[[nodiscard]] Result<BackendTraits> backend_traits(std::string_view backend, bool supervised);

struct BackendSetup {
    plan::RunConfig config;
    BackendTraits traits;
    std::filesystem::path osorad;              // run as `osorad agent`
    Environment environment;                   // of the agents and, through them, of the workers
    AgentStart start;                          // address and node are set later
    std::function<std::vector<int>()> spared;  // other children of this process; may be empty
};

/// The backend that `setup.config.resources.backend` names; invalid_input when this build does not
/// have it.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(BackendSetup setup, TaskGroup& tasks,
                                                            Logger& log,
                                                            Backend::OnExited on_exited);

}  // namespace osora::daemon
