// Source of a rehearsal's compute times: the newest training run of the same work in the history.
#pragma once

#include "cli/command/context.hpp"
#include "cli/plan/plan_run.hpp"
#include "db/analysis/history.hpp"
#include "plan/rehearsal.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

/// Steps that a run needs before its figures serve a plan.
inline constexpr int kMeasuredStepsMin = 5;
[[nodiscard]] bool is_on_gpu(db::analysis::RunSummary const& run);

/// Series of the rehearsals of a run: "stage1" -> "stage1-rehearsal", and back.
[[nodiscard]] std::string rehearsal_series(std::string_view run_name);
[[nodiscard]] std::string trained_series(std::string_view run_name);

/// A training run that a rehearsal takes its compute times from and is compared with.
struct TrainedRun {
    int number = 0;
    double step_s = 0;   // median
    bool alike = false;  // it has the rehearsal's ranks, nodes, batches and ways of reducing
    /// Compute times for each bucket of the plan; if the run had another number of samples per
    /// rank, forward and backward are scaled with it. nullopt: the run has not trained that bucket.
    std::vector<std::optional<plan::BucketCompute>> compute;
};
/// The newest finished run that does the same work with as many threads per rank on the same kind
/// of device; an alike one is preferred. nullopt: none, or no history.
[[nodiscard]] std::optional<TrainedRun> trained_run(Context const& context,
                                                    plan::RunConfig const& config,
                                                    PlannedRun const& planned);

}  // namespace osora::cli
