// What reports ask of history.db. Reading only; errors are those of Store::open.
#pragma once

#include "base/result.hpp"
#include "db/analysis/history.hpp"
#include "db/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::db {

using analysis::RunHistory;
using analysis::RunSummary;
using analysis::SeriesRun;

/// Runs whose name, series, model, user, commit or cause contains `text` (any case; empty: all),
/// newest first, at most `limit`.
[[nodiscard]] Result<std::vector<RunSummary>> list_runs(Store& store, std::string_view text,
                                                        int limit);

/// The run that `wanted` names: a number, a run's name, the newest run of a series, or the first
/// characters (4 or more) of a uuid. not_found names the nearest; invalid_input: ambiguous.
[[nodiscard]] Result<RunRecord> find_run(Store& store, std::string_view wanted);

[[nodiscard]] Result<RunHistory> load_run(Store& store, std::int64_t run_id);

/// All runs with this config.run.name, oldest first; not_found names the nearest.
[[nodiscard]] Result<std::vector<SeriesRun>> load_series(Store& store, std::string_view name);

}  // namespace osora::db
