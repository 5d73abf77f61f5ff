// Private to bisect/: decides whether good and bad really differ, and by how much.
#pragma once

#include "db/analysis/bisect/trial_runner.hpp"

#include <optional>
#include <string>

namespace osora::db::analysis {

struct Baselines {
    Level good, bad;
    double gap_s = 0, d = 0;
    std::optional<BisectVerdict> verdict;  // nothing to search for
    std::string reason;                    // reason for the verdict
};

/// Alternates trials of good and bad until the gap is clearly above, or clearly below, min_effect
/// and 3 sigma. With sigma from history and a clear gap, the last of baseline_trials is left to the
/// proof, so that good and bad are also measured after the search.
[[nodiscard]] Result<Baselines> measure_baselines(TrialRunner& trials, std::size_t atoms);

}  // namespace osora::db::analysis
