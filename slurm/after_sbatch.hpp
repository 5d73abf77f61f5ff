// Finds a job when sbatch has not printed its number: an overloaded slurmctld accepts a job and
// does not answer. Pure.
#pragma once

#include "slurm/job.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace osora::slurm {

/// Output of sbatch after which the job may be in the queue anyway ("Socket timed out on send/recv
/// operation"): Slurm has not answered, and has not refused either.
[[nodiscard]] bool may_have_been_taken(std::string_view words);

/// The jobs of the queue that may be the one that was submitted as `name` at `asked`, in seconds
/// since 1970.
struct JobsOfName {
    std::vector<QueuedJob> ours;    // submitted since then: one of them is the job
    std::vector<QueuedJob> others;  // still active, submitted before: from another folder of runs
};
[[nodiscard]] JobsOfName jobs_of_name(std::vector<QueuedJob> const& queue, std::string_view name,
                                      std::int64_t asked);

/// The cluster in the options of a job ([slurm] extra): "north", "north,south" or "all"; "" = none,
/// so that the job is on the cluster that the commands talk to.
[[nodiscard]] std::string cluster_asked_for(std::vector<std::string> const& options);
/// Whether it names exactly one cluster.
[[nodiscard]] bool is_one_cluster(std::string_view cluster);

/// Whether it waits until somebody releases it.
[[nodiscard]] bool is_held(QueuedJob const& job);
/// The reason for people: "(Priority)"; for a held job also how to release it, and for one that
/// waiting does not start, why.
[[nodiscard]] std::string reason_text(QueuedJob const& job, std::string_view cluster);

}  // namespace osora::slurm
