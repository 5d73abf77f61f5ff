// Which backend a run has, and what follows from it for the controller: who must reach it, and what
// becomes of its agents when it dies. Private to shells.
#pragma once

#include "base/environment.hpp"
#include "base/log/log.hpp"
#include "base/task_group.hpp"
#include "daemon/agent/agent_start.hpp"
#include "daemon/backends/backend.hpp"
#include "plan/config/run_config.hpp"

#include <filesystem>
#include <memory>
#include <string_view>

namespace osora::daemon {

struct BackendTraits {
    bool other_hosts = false;     // agents run on other machines: listen on every address
    bool outlive = false;         // agents live on without their controller, for the lease
    MonotonicTime lease = 5s;     // docs/rfc/002
    MonotonicTime adopt_limit{};  // how long a new life of the controller waits for them
    MonotonicTime agent_stop_limit = 12s;

    /// Others could listen where the controller was: agents must know whom they talk to.
    [[nodiscard]] bool needs_tls() const { return other_hosts || outlive; }
};

/// invalid_input for a name that is no backend. `supervised`: somebody starts the controller again
/// when it dies (osorad serve), so that agents on this machine may wait for it, too. Pure.
[[nodiscard]] Result<BackendTraits> backend_traits(std::string_view backend, bool supervised);

struct BackendSetup {
    plan::RunConfig config;
    BackendTraits traits;
    std::filesystem::path osorad;  // run as `osorad agent`
    Environment environment;       // of the agents and, through them, of the workers
    AgentStart start;              // address and node are filled in
};

/// The backend that `setup.config.resources.backend` names; invalid_input when this build has none
/// of that name.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_backend(BackendSetup setup, TaskGroup& tasks,
                                                            Logger& log,
                                                            Backend::OnExited on_exited);

}  // namespace osora::daemon
