// A Slurm job as osora sees it: its identity, and its state in the queue.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace osora::slurm {

/// Job ids wrap around to 1 after a while: only with cluster and submit time they identify one job.
/// A requeue changes SubmitTime; id and name stay.
struct JobKey {
    std::string cluster;           // "" = the cluster that the commands talk to
    std::int64_t job_id = 0;       // of an array's task: the task's own id
    std::int64_t submit_time = 0;  // seconds since 1970; 0 = not known yet
    std::string name;              // of the job: the run's folder name
    friend bool operator==(JobKey const&, JobKey const&) = default;
};
BOOST_DESCRIBE_STRUCT(JobKey, (), (cluster, job_id, submit_time, name))

enum class JobState {
    unknown,  // a state that this version does not know: never treated as an end
    pending,
    running,
    suspended,   // stopped, may continue
    completing,  // over, its processes are ending
    completed,   // exit code 0
    failed,
    cancelled,
    timeout,
    preempted,
    node_fail,
    out_of_memory
};
BOOST_DESCRIBE_ENUM(JobState, unknown, pending, running, suspended, completing, completed, failed,
                    cancelled, timeout, preempted, node_fail, out_of_memory)

/// Ended, and will not run again by itself. A requeued job shows up as pending.
[[nodiscard]] constexpr bool is_final(JobState state) {
    return state >= JobState::completed;
}

/// One line of the queue.
struct QueuedJob {
    std::int64_t job_id = 0;        // for scancel and scontrol
    std::int64_t array_job_id = 0;  // 0 = not an array
    std::string array_task;         // "3", or "5-7%2" of waiting ones; "" = no array
    JobState state = JobState::unknown;
    std::string reason;  // why it waits; "" = none
    std::optional<std::int64_t> submit_time, end_time;
    std::optional<std::int64_t> start_time;  // estimated while pending
    std::optional<std::int64_t> time_limit_s;
    int nodes = 0;
    std::string node_list;
    std::string name;
    friend bool operator==(QueuedJob const&, QueuedJob const&) = default;
};

/// Parses "PENDING", "CANCELLED by 1000", "CD"... of any Slurm from 20.11 on.
[[nodiscard]] JobState parse_job_state(std::string_view word);

}  // namespace osora::slurm
