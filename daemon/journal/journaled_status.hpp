// The state of a run from its journal, read by a process that does not control it.
#pragma once

#include "base/result.hpp"
#include "protocol/run_status.hpp"

#include <filesystem>

namespace osora::daemon {

/// The state that a run's journal shows now; a run without a journal is `submitted`. Errors: io,
/// corrupt.
[[nodiscard]] Result<protocol::RunStatus> read_run_status(std::filesystem::path const& run_dir);

}  // namespace osora::daemon
