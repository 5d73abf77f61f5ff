// The result of `osora rehearse`: the rehearsed step time, its parts, the plan's prediction and the
// time of training. Pure.
#pragma once

#include "cli/plan/rehearsal_source.hpp"
#include "db/analysis/report/run_report.hpp"
#include "plan/rehearsal.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

struct RehearsalResult {
    db::analysis::RunReport report;            // of the rehearsal
    std::vector<plan::BucketCompute> compute;  // compute times that it was given
    std::optional<TrainedRun> trained;
};

/// Means over ranks and counted steps, seconds per step; NaN = not measured.
struct RehearsalSplit {
    double compute_s = 0, exposed_comm_s = 0, wait_s = 0, data_wait_s = 0, other_s = 0;
    /// Time that a rank waited for collectives, by class; also for slower ranks.
    std::map<std::string, double> exposed_by_class_s = {};
};
[[nodiscard]] RehearsalSplit rehearsal_split(db::analysis::RunReport const& report);

/// "run 41", "plan", "run file, plan": distinct sources of the buckets.
[[nodiscard]] std::string compute_source(std::vector<plan::BucketCompute> const& compute);

[[nodiscard]] std::string rehearsal_text(RehearsalResult const& result);
/// Schema osora.rehearse/1, one line.
[[nodiscard]] std::string rehearsal_json(RehearsalResult const& result);

}  // namespace osora::cli
