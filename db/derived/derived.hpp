// Private to db/: rows that are computed from other rows: spans and windows of a run, change points
// of a series, and what made a run slower than the last good one. They are recomputed when their
// input changes (tables `stale` and `stale_series`), so they depend only on the journals, not on
// the sequence of calls. May throw SQLite::Exception.
#pragma once

#include "base/result.hpp"
#include "db/record/run_record.hpp"
#include "db/store/connection_internal.hpp"

#include <chrono>
#include <cstdint>

namespace osora::db {

enum class Derived { spans, windows };

/// Part of a transaction: marks what `run` derives from events or from steps as stale.
void mark_stale(Connection& connection, std::int64_t run_id, Derived what);
/// Part of a transaction, after a change to a run that has or had ended: also drops comparisons
/// with it.
void mark_series_stale(Connection& connection, RunRecord const& run);

/// Part of a transaction: computes the run's spans when they are stale.
void derive_spans(Connection& connection, std::int64_t run_id);
/// Part of a transaction. `steps`: all of the run's, with the column step_time_s.
void derive_windows(Connection& connection, std::int64_t run_id, StepTable const& steps);

/// Recomputes what is stale until `deadline`, runs first; the rest is left for the next call.
[[nodiscard]] Result<void> derive_stale(Connection& connection,
                                        std::chrono::steady_clock::time_point deadline);

/// Private to derive_stale(): change points and comparisons of the finished runs of a series.
/// False: the deadline came first.
[[nodiscard]] Result<bool> derive_series(Connection& connection, std::int64_t series_id,
                                         std::chrono::steady_clock::time_point deadline);

}  // namespace osora::db
