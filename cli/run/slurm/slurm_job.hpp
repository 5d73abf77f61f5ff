// A run on Slurm, from the machine that submits it: its job script and environment, and the
// commands sbatch, squeue and scancel. Each has a time limit of seconds, and its message is passed
// on.
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

/// Whether this process runs inside a job: agents are then started in it, and nothing is queued.
[[nodiscard]] bool is_in_job(Environment const& environment);

/// The text of RUN_DIR/job.sh for a run in `run_dir`, for a job on `cluster` ("" = the default one
/// of Slurm's commands). Asks sinfo when nodes are to be excluded, and prints a note about nodes of
/// the run file that Slurm does not know.
[[nodiscard]] Result<std::string> job_script_for(Context const& context,
                                                 plan::RunConfig const& config,
                                                 std::filesystem::path const& run_dir,
                                                 std::string const& cluster);

/// Writes RUN_DIR/environment and RUN_DIR/job.sh.
[[nodiscard]] Result<void> write_job_files(Context const& context, plan::RunConfig const& config,
                                           RunFolder const& run, std::string const& cluster);

/// The outcome of sbatch. A job that Slurm may have accepted is never lost track of: without a
/// record `kept` says why the run's folder must stay.
struct Submitted {
    std::optional<slurm::JobRecord> record;
    std::string notice;  // how the job was found when sbatch did not print its number; "" = it did
    Error error{Errc::unreachable, ""};  // without a record
    bool kept = false;                   // without a record: a job may be in the queue
};
/// Submits RUN_DIR/job.sh, which asks for `cluster` ("" = none), with sbatch, to wait for `after`
/// on its cluster, and writes RUN_DIR/slurm.json. If sbatch fails or prints no number, looks for
/// the job in the queue by its name.
[[nodiscard]] Submitted submit_job(Context const& context, RunFolder const& run,
                                   Predecessor const& after, std::string const& cluster);

/// When a job with this script would start, according to `sbatch --test-only`.
[[nodiscard]] Result<slurm::StartEstimate> estimate_start(Context const& context,
                                                          std::string const& script);

/// The output of squeue about the user's jobs on `cluster` ("" = its default), for
/// slurm::parse_queue(). unreachable: squeue failed, or listed no job but printed a message on
/// stderr.
[[nodiscard]] Result<std::string> run_squeue(Context const& context, std::string const& cluster);
/// The user's jobs now, for a decision; followers use cli/run/slurm/shared_queue.hpp.
[[nodiscard]] Result<std::vector<slurm::QueuedJob>> read_queue(Context const& context,
                                                               std::string const& cluster);
[[nodiscard]] Result<void> cancel_job(Context const& context, slurm::JobKey const& job);

/// nullopt: the run has no job (yet).
[[nodiscard]] std::optional<slurm::JobRecord> read_job_record(protocol::RunPaths const& paths);
/// The queue may not list the recorded job yet, because it was submitted within the last minute.
[[nodiscard]] bool is_just_submitted(protocol::RunPaths const& paths);
/// Whether no controller of the recorded job has begun: the record, which is written for each job
/// and each requeue, is newer than the journal. Of a run that is over: a job was to continue it.
[[nodiscard]] bool awaits_controller(protocol::RunPaths const& paths);
[[nodiscard]] Result<void> write_job_record(protocol::RunPaths const& paths,
                                            slurm::JobRecord const& record);

}  // namespace osora::cli
