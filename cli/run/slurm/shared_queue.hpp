// STATE/queue (STATE/queue-CLUSTER): squeue's last answer, shared by all osora processes of a state
// folder, so that the scheduler is asked once per interval however many runs are followed.
#pragma once

#include "base/env.hpp"
#include "cli/command/context.hpp"
#include "slurm/job.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

struct QueueAnswer {
    std::vector<slurm::QueuedJob> jobs;  // of the user
    MonotonicTime age{};                 // since squeue gave it
};

/// An answer that is at most `age_max` old: a shared one, else squeue is called (20 s limit) and
/// its answer or failure is shared. busy: another process is waiting for squeue.
[[nodiscard]] Result<QueueAnswer> shared_queue(Context const& context,
                                               std::filesystem::path const& state,
                                               MonotonicTime age_max, std::string const& cluster);

}  // namespace osora::cli
