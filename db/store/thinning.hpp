// Private to db/: takes rows of a run away so that its report stays right and they do not come back
// at the next ingestion. The table `kept` says what was taken, by uuid. May throw
// SQLite::Exception.
#pragma once

#include "db/analysis/step_figures.hpp"
#include "db/record/run_record.hpp"
#include "db/retention/retention.hpp"
#include "db/store/connection_internal.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::db {

/// As the table `kept` numbers them; a later one takes more.
enum class MatrixThinning { none, outside_windows, all };

/// Of a run whose rows are all there or which was thinned before.
void thin(Connection& connection, RunRecord const& run, bool steps, MatrixThinning matrices);

/// At the end of a journal whose run was read from its start: takes the same rows again, when the
/// journal is what it was; else forgets that they were taken.
void thin_again(Connection& connection, RunRecord const& run, std::int64_t next_sequence);

[[nodiscard]] bool is_thinned(Connection& connection, std::string const& uuid);
void forget_thinning(Connection& connection, std::string const& uuid);

/// As they were before; with the run's row of `measured`.
[[nodiscard]] std::optional<analysis::StepFigures> load_kept(Connection& connection,
                                                             RunRecord const& run);

[[nodiscard]] std::vector<StepRange> ranges_of(Connection& connection, std::int64_t run_id);
/// Steps in `range` that would go.
[[nodiscard]] std::int64_t count_steps(Connection& connection, std::int64_t run_id,
                                       StepRange range);

/// What stays of the run's matrices: its first steps, and those near warnings and errors; an error
/// that names no step stands at the last one of its launch.
[[nodiscard]] std::vector<StepRange> windows_of(Connection& connection, std::int64_t run_id);
[[nodiscard]] std::int64_t matrix_bytes_outside(Connection& connection, std::int64_t run_id,
                                                std::vector<StepRange> const& windows);

}  // namespace osora::db
