// The searches of osora bisect, in sequence: among the items that differ, with all commits as one
// item; at the next fidelity if the first does not show the gap; then among the commits.
#pragma once

#include "cli/bisect/bisect_trials.hpp"

#include <string>

namespace osora::cli {

struct BisectOutcome {
    BisectAnswer answer;
    bool interrupted = false;
    std::string failure;  // why the last trial failed to run
};

/// Runs the trials, or replays recorded ones. busy, corrupt: as TrialLog::open.
[[nodiscard]] Result<BisectOutcome> search_for_cause(Context const& context,
                                                     Bisection const& bisection);

/// Values of the other items while commits are compared: the other culprits as in the bad run if
/// they are slow only together, else everything else as in the good run. Pure.
[[nodiscard]] std::vector<bool> surroundings_of_commits(BisectPlan const& plan,
                                                        BisectAnswer const& answer);

}  // namespace osora::cli
