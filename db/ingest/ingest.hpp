// Fills history.db from the runs' journals and the files of searches. Idempotent by (run uuid,
// sequence): whoever calls it, however often and wherever it was cut off, the rows are those of the
// records in the journals.
// Driven by the one-run controller (every 10 s and at the end) and by the next osora command.
#pragma once

#include "base/result.hpp"
#include "db/store/store.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace osora::db {

struct IngestOptions {
    std::chrono::milliseconds lock_wait{2000};  // for another process that is ingesting
    std::int64_t piece_bytes = 8 << 20;         // of a journal, in one transaction
    /// For what follows from several runs, or is new to an older history.db; or as long as the
    /// journals took. What is left then is for the next call.
    std::chrono::milliseconds derive_limit{2000};
};
struct IngestReport {
    int runs = 0;     // journals looked at
    int changed = 0;  // of them, with new records
    std::int64_t records = 0;
    /// "RUN_DIR/journal: ...": what could not be read; the other files were.
    std::vector<std::string> problems;
};

/// Every journal under STATE/runs, every search under STATE/bisects and STATE/tunes, and what
/// follows from several runs. busy: another process is at it (nothing is lost, it does the
/// same) or holds the database; out_of_space, corrupt, io: of the database. What was committed
/// before an error stays, and the next call goes on behind it.
[[nodiscard]] Result<IngestReport> ingest_all(Store& store, std::filesystem::path const& state_dir,
                                              IngestOptions const& options = {});

/// The journal of one run, and the searches beside it. What follows from several runs is left for
/// ingest_all().
[[nodiscard]] Result<IngestReport> ingest_run(Store& store, std::filesystem::path const& run_dir,
                                              IngestOptions const& options = {});

/// Moves a history.db that cannot be used aside (history.db.kept-YYYYMMDDThhmmss, with its -wal;
/// never deleted), makes a new one and fills it from every journal. Returns what it read and, in
/// `kept`, where the old file is ("" when there was none). Runs whose folders are gone are only in
/// the old file.
struct Rebuilt {
    IngestReport ingested;
    std::filesystem::path kept;
};
[[nodiscard]] Result<Rebuilt> rebuild(std::filesystem::path const& state_dir,
                                      StoreOptions const& store_options = {},
                                      IngestOptions const& options = {});

}  // namespace osora::db
