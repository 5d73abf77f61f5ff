// The Slurm backend of a controller that runs inside an allocation, made from its environment and
// from what earlier incarnations wrote. Private to shells.
#pragma once

#include "daemon/backends/make_backend.hpp"

#include <memory>

namespace osora::daemon {

/// invalid_input: this process is in no job, or the job is too small.
[[nodiscard]] Result<std::unique_ptr<Backend>> make_slurm_backend(BackendSetup setup,
                                                                  TaskGroup& tasks, Logger& log,
                                                                  Backend::OnExited on_exited);

}  // namespace osora::daemon
