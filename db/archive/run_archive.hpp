// Runs in one file that can be carried elsewhere: their journals and the files that say what they
// were (docs/rfc/014). No secrets: no tokens, keys, environment, logs or checkpoints, and
// digests of what [worker] env holds of them. An archive is a SQLite file of its own kind and
// version; each piece of a file carries its SHA-256.
#pragma once

#include "base/result.hpp"
#include "db/record/run_record.hpp"
#include "db/store/store.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::db {

struct ArchivedRun {
    std::string uuid, name;
    int number = 0;
    std::int64_t bytes = 0;  // of its files
};

/// Writes `file`, which must not exist yet; all or nothing. A run in progress is included up to its
/// last complete record. invalid_input: the file exists, or a run is named twice; corrupt or
/// not_found: the journal of a run.
[[nodiscard]] Result<std::vector<ArchivedRun>> export_runs(std::vector<RunRecord> const& runs,
                                                           std::filesystem::path const& file);

struct Imported {
    std::vector<ArchivedRun> added;
    std::vector<ArchivedRun> known;  // runs whose journal exists here already and was not changed
    std::vector<ArchivedRun> updated = {};  // imported before, when their journals were shorter
};

/// Makes STATE/runs/NAME.UUID8 for each run of `file` that does not exist here, replaces those of
/// earlier imports whose journal is longer in `file` (unless they were used here), and ingests
/// them. All runs are unpacked and verified before the first one appears. invalid_input: not an
/// archive, another version, or content that no osora writes; corrupt: cut off or damaged;
/// out_of_space before anything is written.
[[nodiscard]] Result<Imported> import_runs(Store& store, std::filesystem::path const& state_dir,
                                           std::filesystem::path const& file);

}  // namespace osora::db
