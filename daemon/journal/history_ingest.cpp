// Opens the store for each call: the database may be moved, replaced or repaired meanwhile.
#include "daemon/journal/history_ingest.hpp"

#include "db/ingest/ingest.hpp"

namespace osora::daemon {

Result<void> ingest_into_history(protocol::RunPaths const& paths) {
    auto const runs = paths.dir.parent_path();
    if (runs.filename() != "runs") return {};
    constexpr std::chrono::milliseconds kPatience{1000};
    db::StoreOptions store_options;
    store_options.busy_wait = kPatience;
    db::IngestOptions ingest_options;
    ingest_options.lock_wait = kPatience;
    auto const file = db::history_file(runs.parent_path());
    OSORA_TRY(auto const store, db::Store::open(file, store_options));
    OSORA_TRY(auto const report, db::ingest_run(*store, paths.dir, ingest_options));
    if (report.problems.empty()) return {};
    return Error{Errc::corrupt, report.problems.front()};
}

}  // namespace osora::daemon
