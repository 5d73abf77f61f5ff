// A run on Slurm, from the machine that submits it: its job script and environment, and the
// commands sbatch, squeue and scancel. Each is given seconds, and its words are passed on.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"
#include "cli/run/slurm/predecessor.hpp"
#include "plan/config/run_config.hpp"
#include "slurm/job_facts.hpp"
#include "slurm/job_record.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

/// Whether this process stands inside a job: agents are then started in it, and nothing is queued.
[[nodiscard]] bool is_in_job(Environment const& environment);

/// The text of RUN_DIR/job.sh for a run in `run_dir`.
[[nodiscard]] Result<std::string> job_script_for(Context const& context,
                                                 plan::RunConfig const& config,
                                                 std::filesystem::path const& run_dir);

/// Writes RUN_DIR/environment and RUN_DIR/job.sh.
[[nodiscard]] Result<void> write_job_files(Context const& context, plan::RunConfig const& config,
                                           RunFolder const& run);

/// What came of sbatch. A job that it may have taken is never forgotten: without a record `kept`
/// says why the run's folder has to stay.
struct Submitted {
    std::optional<slurm::JobRecord> record;
    std::string notice;  // how the job was found, when sbatch did not say it; "" = it did
    Error error{Errc::unreachable, ""};  // without a record
    bool kept = false;                   // without a record: a job may be in the queue
};
/// Gives RUN_DIR/job.sh, which asks for `cluster` ("" = none), to sbatch, to wait for `after` on
/// its cluster, and writes RUN_DIR/slurm.json. Where sbatch fails or says no number, the job is
/// looked for in the queue by its name.
[[nodiscard]] Submitted submit_job(Context const& context, RunFolder const& run,
                                   Predecessor const& after, std::string const& cluster);

/// When a job of this script would start, as `sbatch --test-only` says.
[[nodiscard]] Result<slurm::StartEstimate> estimate_start(Context const& context,
                                                          std::string const& script);

/// What squeue says of the user's jobs on `cluster` ("" = the one that it talks to): for
/// slurm::parse_queue(). unreachable: it failed, or said nothing of jobs but words on stderr.
[[nodiscard]] Result<std::string> run_squeue(Context const& context, std::string const& cluster);
/// The user's jobs now, for a decision; followers take cli/run/slurm/shared_queue.hpp.
[[nodiscard]] Result<std::vector<slurm::QueuedJob>> read_queue(Context const& context,
                                                               std::string const& cluster);
[[nodiscard]] Result<void> cancel_job(Context const& context, slurm::JobKey const& job);

/// nullopt: the run has no job (yet).
[[nodiscard]] std::optional<slurm::JobRecord> read_job_record(protocol::RunPaths const& paths);
/// The queue may not show the recorded job yet: it was submitted within the last minute.
[[nodiscard]] bool is_just_submitted(protocol::RunPaths const& paths);
[[nodiscard]] Result<void> write_job_record(protocol::RunPaths const& paths,
                                            slurm::JobRecord const& record);

}  // namespace osora::cli
