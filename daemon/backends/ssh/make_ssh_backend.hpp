// Makes the ssh backend from a run's configuration.
#pragma once

#include "daemon/backends/make_backend.hpp"

namespace osora::daemon {

/// invalid_input: no hosts, or too few.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_ssh_backend(BackendSetup setup,
                                                                TaskGroup& tasks, Logger& log,
                                                                Backend::OnExited on_exited);

}  // namespace osora::daemon
