// The controller's only call into the history: copies a run's journal into STATE/history.db.
#pragma once

#include "base/result.hpp"
#include "protocol/run_directory.hpp"

namespace osora::daemon {

/// Idempotent. Does nothing for a run directory that is not STATE/runs/NAME. Waits a second or two
/// for a locked database, then returns busy: the next osora command ingests again.
[[nodiscard]] Result<void> ingest_into_history(protocol::RunPaths const& paths);

}  // namespace osora::daemon
