// States of the runs' jobs in Slurm's queue, for commands that look once. Asks at most once per
// cluster, and only when a run has a job.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"
#include "slurm/job.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

enum class JobPlace { unknown, pending, running, gone };

struct JobStatus {
    JobPlace place = JobPlace::unknown;  // unknown: no job (job_id 0), or Slurm does not answer
    slurm::QueuedJob job = {};           // job_id always; the rest while the job is in the queue
    std::string cluster = {};            // "" = the default cluster of Slurm's commands
};

class JobStatusQuery {
public:
    JobStatusQuery(Context const& context, std::filesystem::path state)
        : context_(context), state_(std::move(state)) {}

    [[nodiscard]] JobStatus of(RunFolder const& run);

private:
    Context const& context_;
    std::filesystem::path state_;
    using Queue = std::optional<std::vector<slurm::QueuedJob>>;  // nullopt: no answer
    std::map<std::string, Queue> queues_;                        // by cluster
};

/// "node fail"
[[nodiscard]] std::string state_text(slurm::JobState state);

}  // namespace osora::cli
