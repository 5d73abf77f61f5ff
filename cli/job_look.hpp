// Where the jobs of runs stand in Slurm's queue: for commands that look once. The queue is asked
// at most once, and only when a run has a job.
#pragma once

#include "cli/context.hpp"
#include "cli/runs.hpp"
#include "slurm/job.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace osora::cli {

enum class JobPlace { unknown, waits, runs, gone };

struct JobStand {
    JobPlace place = JobPlace::unknown;  // unknown: no job, or Slurm does not answer
    slurm::QueuedJob job = {};           // job_id always, the rest while the queue has it
};

class JobLook {
public:
    JobLook(Context const& context, std::filesystem::path state)
        : context_(context), state_(std::move(state)) {}

    [[nodiscard]] JobStand stand(RunFolder const& run);

private:
    Context const& context_;
    std::filesystem::path state_;
    bool asked_ = false;
    std::optional<std::vector<slurm::QueuedJob>> queue_;
};

/// "14:20", with the date when that is not today's; local time.
[[nodiscard]] std::string clock_time(std::int64_t seconds);
/// "node fail"
[[nodiscard]] std::string state_text(slurm::JobState state);

}  // namespace osora::cli
