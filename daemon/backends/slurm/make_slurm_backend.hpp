// The Slurm backend of a controller that runs inside an allocation, from its environment and what
// earlier lives of the run left behind. Private to shells.
#pragma once

#include "daemon/backends/make_backend.hpp"

#include <memory>

namespace osora::daemon {

/// invalid_input: this process is in no job, or in one that is too small.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_slurm_backend(BackendSetup setup,
                                                                  TaskGroup& tasks, Logger& log,
                                                                  Backend::OnExited on_exited);

}  // namespace osora::daemon
