// Submit and resume with resources.backend = "slurm": a job for the queue, unless osora already
// runs inside a job.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"
#include "cli/run/started.hpp"
#include "plan/config/run_config.hpp"

namespace osora::cli {

/// Whether a run of this backend is queued rather than started here.
[[nodiscard]] bool is_queued(Context const& context, plan::RunConfig const& config);

/// Submits the job of a run whose directory exists, and follows it; returns osora's exit code. If
/// Slurm refuses the job, the run's files are removed, unless it was being resumed.
[[nodiscard]] int queue_and_follow(Context const& context, RunFolder const& run,
                                   plan::RunConfig const& config, StartOptions const& options);

/// `osora submit --dry-run`: the script as it would be submitted, what it costs, when it starts.
void print_job_dry_run(Context const& context, plan::RunConfig const& config,
                       Predecessor const& after);

}  // namespace osora::cli
