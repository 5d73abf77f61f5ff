// What is known of a job when sbatch has not said its number: an overloaded slurmctld takes a job
// and does not answer. Pure.
#pragma once

#include "slurm/job.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

/// Words of sbatch after which the job may be in the queue all the same ("Socket timed out on
/// send/recv operation"): Slurm was not heard, and has not refused.
[[nodiscard]] bool may_have_been_taken(std::string_view words);

/// The jobs of the queue that may be the one of `name` that was given to sbatch at `asked`, in
/// seconds since 1970.
struct JobsOfName {
    std::vector<QueuedJob> ours;    // submitted since then: one is the job
    std::vector<QueuedJob> others;  // not over, and submitted before: of another folder of runs
};
[[nodiscard]] JobsOfName jobs_of_name(std::vector<QueuedJob> const& queue, std::string_view name,
                                      std::int64_t asked);

/// What the options of a job ([slurm] extra) say of the cluster: "north", "north,south" or "all";
/// "" = nothing, so that the job is on the one that the commands talk to.
[[nodiscard]] std::string cluster_asked_for(std::vector<std::string> const& options);
/// One name, and no choice among several.
[[nodiscard]] bool is_one_cluster(std::string_view cluster);

/// Waits, and will wait for ever until somebody releases it.
[[nodiscard]] bool is_held(QueuedJob const& job);
/// The reason for people: "(Priority)"; for a held job with what lets it start.
[[nodiscard]] std::string reason_text(QueuedJob const& job, std::string_view cluster);

}  // namespace osora::slurm
