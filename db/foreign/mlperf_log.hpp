// Training logs of MLPerf: lines with ":::MLLOG {JSON}", as the mllog package writes them, perhaps
// after "RANK: " of srun. Pure.
#pragma once

#include "base/result.hpp"
#include "db/foreign/logged_run.hpp"

#include <string_view>

namespace osora::db {

[[nodiscard]] bool is_mlperf_log(std::string_view text);

/// Times come from the log's clock between marks that name their step, without evaluations; a
/// train_step_time of the same steps has priority. Damaged lines are left out and counted in the
/// remarks (srun mixes lines of ranks). invalid_input: no benchmark, or no step.
[[nodiscard]] Result<LoggedRun> read_mlperf_log(std::string_view text);

}  // namespace osora::db
