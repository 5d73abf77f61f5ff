// Where a rehearsal's own work comes from: the newest training run of the same work in history.
#pragma once

#include "cli/command/context.hpp"
#include "cli/plan/plan_run.hpp"
#include "plan/rehearsal.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

/// Series of the rehearsals of a run: "stage1" -> "stage1-rehearsal", and back.
[[nodiscard]] std::string rehearsal_series(std::string_view run_name);
[[nodiscard]] std::string trained_series(std::string_view run_name);

/// A training run that a rehearsal takes its own work from, and is held against.
struct TrainedRun {
    int number = 0;
    double step_s = 0;   // median
    bool alike = false;  // ranks, nodes, batches and ways of reducing are the rehearsal's
    /// For each bucket of the plan; where the run had more or fewer samples a rank, forward and
    /// backward are scaled with them. nullopt: it has not trained that bucket.
    std::vector<std::optional<plan::BucketCompute>> compute;
};
/// The newest one that has ended and does the same work with as many threads a rank on the same
/// kind of device, an alike one before all others; nullopt: none, or no history.
[[nodiscard]] std::optional<TrainedRun> trained_run(Context const& context,
                                                    plan::RunConfig const& config,
                                                    PlannedRun const& planned);

}  // namespace osora::cli
