// Logs of other programs become runs of the history: MLPerf training logs and files of NCCL's
// inspector (docs/rfc/014).
#pragma once

#include "base/result.hpp"
#include "db/archive/run_archive.hpp"

#include <filesystem>

namespace osora::db {

/// Whether `file` is such a log, or a folder (files of the inspector of one job).
[[nodiscard]] Result<bool> is_log(std::filesystem::path const& file);

/// Makes STATE/runs/NAME.UUID8 with a journal, and ingests it. The uuid follows from the content:
/// a log that was imported before is `known`. invalid_input: nothing that can be read as a run,
/// with file and line; out_of_space.
[[nodiscard]] Result<Imported> import_log(Store& store, std::filesystem::path const& state_dir,
                                          std::filesystem::path const& file);

}  // namespace osora::db
