// Private to db/: takes rows of a run away so that its report stays right and they do not come back
// at the next ingestion. The table `kept` says what was taken, by uuid. May throw
// SQLite::Exception.
#pragma once

#include "db/analysis/step_figures.hpp"
#include "db/connection_internal.hpp"
#include "db/retention.hpp"
#include "db/run_record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::db {

/// Of a run whose rows are all there or which was thinned before.
void thin(Connection& connection, RunRecord const& run, bool steps, bool matrices);

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

}  // namespace osora::db
