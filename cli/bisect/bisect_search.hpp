// The searches of osora bisect, one after the other: among the items that differ, with all commits
// as one of them; on the next rung where one is too low; then among the commits.
#pragma once

#include "cli/bisect/bisect_trials.hpp"

#include <string>

namespace osora::cli {

struct BisectOutcome {
    BisectAnswer answer;
    bool interrupted = false;
    std::string failure;  // of the last trial that did not run
};

/// Runs the trials, or plays them back. busy, corrupt: as TrialLog::open.
[[nodiscard]] Result<BisectOutcome> search_for_cause(Context const& context,
                                                     Bisection const& bisection);

/// What the commits are tried with, when they are told from each other: the other culprits as in
/// the bad run where only together they are slow, else everything else as in the good run. Pure.
[[nodiscard]] std::vector<bool> surroundings_of_commits(BisectPlan const& plan,
                                                        BisectAnswer const& answer);

}  // namespace osora::cli
