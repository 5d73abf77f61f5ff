// Queries of history.db for reports. Read-only; errors are those of Store::open.
#pragma once

#include "base/result.hpp"
#include "db/analysis/bucket_compute.hpp"
#include "db/analysis/history.hpp"
#include "db/store/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::db {

using analysis::RunHistory;
using analysis::RunSummary;
using analysis::SeriesRun;

/// Runs whose name, series, model, user, commit or cause contains `text` (case-insensitive; empty:
/// all), newest first, at most `limit`.
[[nodiscard]] Result<std::vector<RunSummary>> list_runs(Store& store, std::string_view text,
                                                        int limit);

/// Every run, newest first, without its figures.
[[nodiscard]] Result<std::vector<RunRecord>> all_runs(Store& store);

/// The run with its figures.
[[nodiscard]] Result<RunSummary> summary_of(Store& store, RunRecord run);

/// The run that `wanted` names: a number, a run's name, a series (its newest run), or the first
/// characters (4 or more) of a uuid; an imported one only if no other has the number or name.
/// not_found names the nearest; invalid_input: ambiguous.
[[nodiscard]] Result<RunRecord> find_run(Store& store, std::string_view wanted);

[[nodiscard]] Result<RunHistory> load_run(Store& store, std::int64_t run_id);

/// The resolved run file of a run, without secrets.
[[nodiscard]] Result<Facts> load_run_config(Store& store, std::int64_t run_id);
/// What its ranks took for each bucket.
[[nodiscard]] Result<std::vector<analysis::BucketWork>> load_bucket_work(Store& store,
                                                                         std::int64_t run_id);

/// config.run.name of every run, each once, sorted.
[[nodiscard]] Result<std::vector<std::string>> series_names(Store& store);

/// All runs with this config.run.name, oldest first; not_found names the nearest.
[[nodiscard]] Result<std::vector<SeriesRun>> load_series(Store& store, std::string_view name);

/// The same without imported runs: for commands that start a run or choose one as good.
[[nodiscard]] Result<std::vector<SeriesRun>> load_own_series(Store& store, std::string_view name);

}  // namespace osora::db
