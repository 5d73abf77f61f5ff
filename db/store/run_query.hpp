// Private to db/: queries for parts of runs, combined in queries.hpp. May throw SQLite::Exception.
#pragma once

#include "db/analysis/history.hpp"
#include "db/store/connection_internal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::db {

/// In the order of the journal.
[[nodiscard]] std::vector<EventRecord> load_events(Connection& connection, std::int64_t run_id);

/// Runs that `where` (on "run r" and "series s", with ?1) selects, oldest first.
[[nodiscard]] std::vector<analysis::SeriesRun> load_series_runs(Connection& connection,
                                                                std::string const& where,
                                                                std::string const& value);

}  // namespace osora::db
