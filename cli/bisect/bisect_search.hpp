// Runs the searches of osora bisect that SearchCore asks for, and records them.
#pragma once

#include "cli/bisect/bisect_trials.hpp"
#include "cli/bisect/search_core.hpp"

namespace osora::cli {

/// Runs the trials, or replays recorded ones. busy, corrupt: as TrialLog::open.
[[nodiscard]] Result<BisectOutcome> search_for_cause(Context const& context,
                                                     Bisection const& bisection);

}  // namespace osora::cli
