// A run that is suspected to be slow, and its repeat for a few steps with the same run file: is it
// slow again? Pure.
#pragma once

#include "db/analysis/detection.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::db::analysis {

/// "stage1-again-42": run.name of the repeats of run 42 of series stage1, so that the history shows
/// what they repeat.
[[nodiscard]] std::string repeat_series(std::string_view series, int number);
[[nodiscard]] bool is_repeat_series(std::string_view series);

struct Repeat {
    int number = 0;  // of the newest repeat
    changepoint::GateDecision decision;
    std::vector<std::string> other_nodes;  // hosts of the suspect that the repeat did not run on
};

/// The decision about the newest run of the group, if it is a suspect and `repeats` has a run of
/// its work at its size with enough steps. A few steps may lack a bucket, so both runs and the
/// earlier ones are compared only over the repeat's buckets.
[[nodiscard]] std::optional<Repeat> judge_repeat(Detection const& detection,
                                                 std::vector<SeriesRun> const& runs,
                                                 std::vector<SeriesRun> const& repeats,
                                                 changepoint::GateOptions const& options = {});

/// Replaces the suspicion by this decision.
void apply_repeat(Detection& detection, Repeat const& repeat);

}  // namespace osora::db::analysis
