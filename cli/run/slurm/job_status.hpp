// States of the runs' jobs in Slurm's queue, for commands that look once. Asks at most once per
// cluster, and only when a run has a job.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"
#include "protocol/run_view.hpp"
#include "slurm/job.hpp"

#include <cstdint>
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

/// Whether the job runs and is not ending already, which may take minutes.
[[nodiscard]] bool is_at_work(JobStatus const& job);

/// Whether the run is over in its journal, and a job was to continue it, of which no controller has
/// begun. Nothing continues a run that ended well or was imported.
[[nodiscard]] bool awaits_next_job(RunFolder const& run, protocol::RunView const& view);

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

/// A run that is not over, in a job that runs. Times in seconds since 1970.
struct RunningJob {
    int run = 0;  // its number
    std::int64_t job_id = 0;
    std::string cluster = {};      // "" = the default one
    bool controller_gone = false;  // it was on this machine, and does not listen
    std::int64_t last_record_s = 0, now_s = 0;
};
/// The run's controller does not listen on this machine.
[[nodiscard]] RunningJob running_job(JobStatus const& job, int number,
                                     protocol::RunView const& view);
/// Why the run may have lost its controller, and what to do; "": it has recorded something lately.
[[nodiscard]] std::string silent_job_text(RunningJob const& at);
/// Why no other job is submitted for it, and what to do: "run 7 is active in job 101; osora watch 7
/// follows it". A run that was silent for long may have lost its controller.
[[nodiscard]] std::string running_job_text(RunningJob const& at);
/// The same for a run that is over, whose next job runs but has no controller yet.
[[nodiscard]] std::string starting_job_text(RunningJob const& at);
/// After a cancel was waited for; `now`: one that leaves out the checkpoint. `job_id` 0: no job.
[[nodiscard]] std::string still_stopping_text(RunningJob const& at, double waited_s, bool now);

}  // namespace osora::cli
