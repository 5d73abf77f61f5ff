// Private to db/: removes rows of a run so that its report stays correct and they do not come back
// at the next ingestion. The table `kept` records what was removed, by uuid. May throw
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

/// Values in the table `kept`; a later one removes more.
enum class MatrixThinning { none, outside_windows, all };

/// Of a run that has all its rows or was thinned before.
void thin(Connection& connection, RunRecord const& run, bool steps, MatrixThinning matrices);

/// At the end of a journal that was read from its start: removes the same rows again if the journal
/// is unchanged; else forgets that they were removed.
void thin_again(Connection& connection, RunRecord const& run, std::int64_t next_sequence);

[[nodiscard]] bool is_thinned(Connection& connection, std::string const& uuid);
void forget_thinning(Connection& connection, std::string const& uuid);

/// Figures before thinning; with the run's row of `measured`.
[[nodiscard]] std::optional<analysis::StepFigures> load_kept(Connection& connection,
                                                             RunRecord const& run);

[[nodiscard]] std::vector<StepRange> ranges_of(Connection& connection, std::int64_t run_id);
/// The ranges of which every tenth step is left; none: all steps are there.
[[nodiscard]] std::vector<StepRange> thinned_ranges(Connection& connection, std::int64_t run_id);
/// Steps in `range` that would be removed.
[[nodiscard]] std::int64_t count_steps(Connection& connection, std::int64_t run_id,
                                       StepRange range);

/// The parts of the run's matrices that stay: its first steps, and those near warnings and errors;
/// an error without a step counts at the last step of its launch.
[[nodiscard]] std::vector<StepRange> windows_of(Connection& connection, std::int64_t run_id);
[[nodiscard]] std::int64_t matrix_bytes_outside(Connection& connection, std::int64_t run_id,
                                                std::vector<StepRange> const& windows);

}  // namespace osora::db
