// Private to db/: rows that follow from other rows: spans and windows of a run, change points of a
// series, and what made a run slower than the last good one. They are made where their ground
// changes (tables `stale` and `stale_series`), so they are those of the journals whatever calls
// made them. May throw SQLite::Exception.
#pragma once

#include "base/result.hpp"
#include "db/record/run_record.hpp"
#include "db/store/connection_internal.hpp"

#include <chrono>
#include <cstdint>

namespace osora::db {

enum class Derived { spans, windows };

/// Part of a transaction: what `run` derives from events or from steps has to be made again.
void mark_stale(Connection& connection, std::int64_t run_id, Derived what);
/// Part of a transaction, after a run that has ended, or had, was changed: also drops comparisons
/// with it.
void mark_series_stale(Connection& connection, RunRecord const& run);

/// Part of a transaction: makes the run's spans when they are stale.
void derive_spans(Connection& connection, std::int64_t run_id);
/// Part of a transaction. `steps` with the column step_time_s: all of the run's.
void derive_windows(Connection& connection, std::int64_t run_id, StepTable const& steps);

/// Makes what is stale until `deadline`, runs first; what is left is for the next call.
[[nodiscard]] Result<void> derive_stale(Connection& connection,
                                        std::chrono::steady_clock::time_point deadline);

/// Private to derive_stale(): change points and comparisons of the runs of a series that have
/// ended. False: the deadline came first.
[[nodiscard]] Result<bool> derive_series(Connection& connection, std::int64_t series_id,
                                         std::chrono::steady_clock::time_point deadline);

}  // namespace osora::db
