// Private to db/: reads and writes rows of run, series, fingerprint and plan as value types.
// Everything here may throw SQLite::Exception (see guarded() in connection.hpp).
#pragma once

#include "db/record/run_record.hpp"
#include "db/store/connection_internal.hpp"

#include <optional>
#include <vector>

namespace osora::db {

/// Reads the columns of kRunColumns from the current row.
[[nodiscard]] RunRecord read_run(SQLite::Statement& row);
/// "run_id,uuid,...": the columns that read_run expects, of `run r JOIN series s`.
extern char const* const kSelectRun;  // "SELECT ... FROM run r JOIN series s USING(series_id) "

[[nodiscard]] std::optional<RunRecord> run_of_uuid(Connection& connection, std::string const& uuid);
/// Whether the run is known and the journal in its folder is still there.
[[nodiscard]] bool has_journal(Connection& connection, std::string const& uuid);
[[nodiscard]] std::optional<RunRecord> run_of_id(Connection& connection, std::int64_t run_id);
/// Inserts a run (run_id 0) or overwrites the one with that run_id; sets run_id.
void save_run(Connection& connection, RunRecord& run);
/// With all rows that depend on it.
void delete_run(Connection& connection, std::int64_t run_id);

/// The series with this name and work; creates it if it is new.
[[nodiscard]] std::int64_t series_id_of(Connection& connection, std::string const& name,
                                        Facts const& work);

[[nodiscard]] Facts load_facts(Connection& connection, std::optional<std::int64_t> fp_id);
/// The fingerprint of these facts; creates it if it is new; none for no facts.
[[nodiscard]] std::optional<std::int64_t> fingerprint_id_of(Connection& connection, FactKind kind,
                                                            Facts const& facts);
/// Removes fingerprints and series that no run refers to any more.
void remove_unused(Connection& connection);

void save_plan(Connection& connection, std::int64_t run_id, protocol::json::value const& plan);
[[nodiscard]] std::optional<PlanRecord> load_plan(Connection& connection, std::int64_t run_id);

}  // namespace osora::db
