// Holds locks for one run at a time, so that the controller of another run never waits long.
#include "base/files/file_lock.hpp"
#include "base/files/files.hpp"
#include "db/retention/retention.hpp"
#include "db/store/connection_internal.hpp"
#include "db/store/run_store.hpp"
#include "db/store/thinning.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <system_error>

namespace osora::db {
namespace {

constexpr int kPagesAtOnce = 2000;

std::int64_t integer_pragma(Connection& connection, char const* sql) {
    return select_integer(connection, sql).value_or(0);
}

Result<std::optional<FileLock>> lock_of(Store& store) {
    if (store.file().empty()) return std::optional<FileLock>();
    auto lock = FileLock::acquire(store.file().string() + ".lock", std::chrono::seconds(10));
    if (lock.has_error()) return std::move(lock).error().in("vacuum history");
    return std::optional<FileLock>(std::move(*lock));
}

Result<void> remove_journal(std::string const& run_dir) {
    auto const journal = std::filesystem::path(run_dir) / "journal";
    std::error_code error;
    std::filesystem::remove(journal, error);
    if (error) return file_error(error.value(), "remove", journal);
    return sync_directory(run_dir);
}

Result<void> apply_to_run(Store& store, RunRetention const& due, RetentionRules const& rules) {
    OSORA_TRY(auto const lock, lock_of(store));
    if (rules.is_live(due.run_dir)) return {};
    auto& connection = store.connection();
    OSORA_TRY(bool const done, in_transaction(connection, "vacuum history", [&]() -> Result<bool> {
                  auto const run = run_of_id(connection, due.run_id);
                  if (!run || !run->ended_us) return false;  // changed since it was planned
                  if (due.step_rows > 0 || due.matrix_bytes > 0) {
                      auto const matrices = due.matrix_bytes == 0 ? MatrixThinning::none
                                            : due.matrix_windows  ? MatrixThinning::outside_windows
                                                                  : MatrixThinning::all;
                      thin(connection, *run, due.step_rows > 0, matrices);
                  }
                  return true;
              }));
    // The history is on disk; from now on it is all that remains of the run.
    if (done && due.journal_bytes > 0) return remove_journal(due.run_dir);
    return {};
}

/// Returns free pages to the file system.
Result<void> shrink(Store& store) {
    auto& connection = store.connection();
    bool const incremental = integer_pragma(connection, "PRAGMA auto_vacuum") == 2;
    while (integer_pragma(connection, "PRAGMA freelist_count") > 0) {
        OSORA_TRY(auto const lock, lock_of(store));
        auto const before = integer_pragma(connection, "PRAGMA freelist_count");
        // A file without incremental vacuum is rebuilt once.
        connection.database().exec(incremental
                                       ? fmt::format("PRAGMA incremental_vacuum({})", kPagesAtOnce)
                                       : "PRAGMA auto_vacuum=INCREMENTAL; VACUUM");
        if (integer_pragma(connection, "PRAGMA freelist_count") >= before) break;
    }
    connection.database().exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return {};
}

}  // namespace

Result<std::int64_t> apply_retention(Store& store, RetentionPlan const& plan,
                                     RetentionRules const& rules) {
    auto& connection = store.connection();
    return guarded(connection, "vacuum history", [&]() -> Result<std::int64_t> {
        auto const pages = integer_pragma(connection, "PRAGMA page_count");
        for (auto const& due : plan.runs) {
            auto const done = apply_to_run(store, due, rules);
            if (done.has_error()) return Error(done.error()).in("run " + due.name);
        }
        OSORA_TRY_VOID(shrink(store));
        auto const freed = pages - integer_pragma(connection, "PRAGMA page_count");
        return freed * integer_pragma(connection, "PRAGMA page_size");
    });
}

}  // namespace osora::db
