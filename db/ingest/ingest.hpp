// Fills history.db from the runs' journals and the files of searches. Idempotent by (run uuid,
// sequence): whoever calls it, however often and wherever it was interrupted, the rows are those of
// the records in the journals. Called by the one-run controller (every 10 s and at the end) and by
// the next osora command.
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
    std::chrono::milliseconds lock_wait{2000};  // wait for another process that is ingesting
    std::int64_t piece_bytes = 8 << 20;         // bytes of a journal in one transaction
    /// Time for derived rows of several runs, or new ones for an older history.db; at least as long
    /// as the journals took. The rest is left for the next call.
    std::chrono::milliseconds derive_limit{2000};
};
struct IngestReport {
    int runs = 0;     // journals checked
    int changed = 0;  // of these, with new records
    std::int64_t records = 0;
    /// "RUN_DIR/journal: ...": files that could not be read; the others were.
    std::vector<std::string> problems;
};

/// Ingests every journal under STATE/runs, every search under STATE/bisects and STATE/tunes, and
/// derives rows of several runs. busy: another process is ingesting (nothing is lost, it does the
/// same) or holds the database; out_of_space, corrupt, io: of the database. What was committed
/// before an error stays, and the next call continues after it.
[[nodiscard]] Result<IngestReport> ingest_all(Store& store, std::filesystem::path const& state_dir,
                                              IngestOptions const& options = {});

/// Ingests the journal of one run, and the searches beside it. Derived rows of several runs are
/// left to ingest_all().
[[nodiscard]] Result<IngestReport> ingest_run(Store& store, std::filesystem::path const& run_dir,
                                              IngestOptions const& options = {});

/// Moves an unusable history.db aside (history.db.kept-YYYYMMDDThhmmss, with -2, -3 ... if that is
/// taken, and its -wal; never deleted), makes a new one and fills it from every journal. Returns
/// what it read and, in `kept`, where the old file is ("" when there was none). Runs whose journals
/// are gone are only in the old file: `only_in_kept` has their names, as far as it can be read.
struct Rebuilt {
    IngestReport ingested;
    std::filesystem::path kept;
    std::vector<std::string> only_in_kept;
};
[[nodiscard]] Result<Rebuilt> rebuild(std::filesystem::path const& state_dir,
                                      StoreOptions const& store_options = {},
                                      IngestOptions const& options = {});

}  // namespace osora::db
