// Parses the answers of sbatch and scontrol that osora uses. Pure; formats of 20.11 to 25.x.
#pragma once

#include "slurm/job.hpp"

#include "base/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

/// "881203" or "881203;cluster" of `sbatch --parsable`, or "Submitted batch job 881203 on cluster
/// x" of a wrapper that drops the option; other lines may precede and follow. invalid_input: no
/// number, or several.
[[nodiscard]] Result<JobKey> parse_submitted(std::string_view output);

/// `sbatch --test-only` (it answers on stderr).
struct StartEstimate {
    std::int64_t start_time = 0;  // with TZ=UTC; seconds since 1970
    std::string node_list, partition;
};
/// invalid_input carries Slurm's own message when it would refuse the job.
[[nodiscard]] Result<StartEstimate> parse_test_only(std::string_view output);

/// "Key=Value ..." of `scontrol show job ID`: the first job's fields. Values that may contain
/// spaces (names, paths, comments) extend to the end of their line.
[[nodiscard]] std::map<std::string, std::string> parse_job_fields(std::string_view output);
/// nullopt when the fields are not those of a job.
[[nodiscard]] std::optional<QueuedJob> job_of_fields(
    std::map<std::string, std::string> const& fields);

/// Whether Slurm preempted this job; false for a job that was cancelled.
[[nodiscard]] bool was_preempted(std::map<std::string, std::string> const& fields);

/// The parts of `scontrol show config` that change how a run restarts. Defaults are Slurm's own.
struct ClusterConfig {
    std::string cluster, version;       // "22.05.8"
    int kill_wait_s = 30;               // SIGTERM to SIGKILL
    int requeue_hold_s = 120;           // how long a requeued job waits before it may start again
    int min_job_age_s = 300;            // ended jobs are forgotten after this
    int node_down_s = 300;              // silence until Slurm marks a node as down
    std::vector<int> requeue_exit;      // exit codes that make Slurm requeue the job
    bool preempt_sends_signal = false;  // --signal also comes before a preemption
    std::string preempt_mode;           // "OFF", "REQUEUE", "GANG,SUSPEND"
};
[[nodiscard]] ClusterConfig parse_config(std::string_view output);

}  // namespace osora::slurm
