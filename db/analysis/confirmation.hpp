// A run that is suspected to be slow, and the same run file run once more for a few steps: is it
// slow again? Pure.
#pragma once

#include "db/analysis/detection.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::db::analysis {

/// "stage1-again-42": run.name of the repeats of run 42 of series stage1, so that history says what
/// they repeat.
[[nodiscard]] std::string repeat_series(std::string_view series, int number);
[[nodiscard]] bool is_repeat_series(std::string_view series);

struct Repeat {
    int number = 0;  // of the newest repeat
    changepoint::GateDecision decision;
    std::vector<std::string> other_nodes;  // hosts of the suspect that the repeat did not run on
};

/// The word on the newest run of the group when it is a suspect and `repeats` has a run of its work
/// at its size with enough steps. A few steps may lack a bucket, so both runs and those before are
/// held against each other over the repeat's buckets alone.
[[nodiscard]] std::optional<Repeat> judge_repeat(Detection const& detection,
                                                 std::vector<SeriesRun> const& runs,
                                                 std::vector<SeriesRun> const& repeats,
                                                 changepoint::GateOptions const& options = {});

/// Puts it in the place of the suspicion.
void apply_repeat(Detection& detection, Repeat const& repeat);

}  // namespace osora::db::analysis
