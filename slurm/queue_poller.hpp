// When to call squeue, and what its answers mean for the jobs that callers wait for: one call for
// all of them, less often while nothing changes, none while nothing can change. Pure; driven by the
// program that runs squeue (the following osora, the daemon).
#pragma once

#include "slurm/job.hpp"

#include "base/env.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::slurm {

using std::chrono_literals::operator""s;

struct PollLimits {
    MonotonicTime shortest = 2s;  // between two calls
    MonotonicTime longest = 30s;  // while nothing changes or Slurm does not answer
    /// The queue forgets ended jobs, and slurmctld may have restarted: a missing job counts as gone
    /// only after this time.
    MonotonicTime absent_limit = 60s;
    int failures_until_blind = 3;
};

/// What is known of a job that a caller waits for.
struct JobView {
    JobKey key;
    JobState state = JobState::unknown;  // the last state in the queue
    std::string reason, node_list;
    std::optional<std::int64_t> start_time;  // estimated while pending
    bool gone = false;  // ended for good: in a final state, or missing for too long
    friend bool operator==(JobView const&, JobView const&) = default;
};

class QueuePoller {
public:
    explicit QueuePoller(PollLimits limits = {}) : limits_(limits) {}

    /// Waits for a job, under the caller's own name for it (a run's uuid). The next call is then
    /// due.
    void watch(std::string const& run, JobKey const& key);
    void forget(std::string const& run);
    /// The run's own journal has news: the queue has nothing to add until the journal is silent.
    void set_speaking(std::string const& run, bool speaking);

    /// When to call squeue; nullopt: not at all, or its answer is pending.
    [[nodiscard]] std::optional<MonotonicTime> next_poll() const;
    void asked(MonotonicTime now);
    /// An answer of this age that another process got replaces a call.
    [[nodiscard]] MonotonicTime interval() const { return interval_; }
    /// Returns the runs whose view has changed. `now`: when squeue answered.
    std::vector<std::string> answered(MonotonicTime now, std::vector<QueuedJob> const& queue);
    /// Slurm did not answer: nothing is known, so nothing is concluded.
    void failed(MonotonicTime now);

    /// nullptr when nobody waits for it.
    [[nodiscard]] JobView const* view(std::string const& run) const;
    /// Whether Slurm has failed to answer several times in a row.
    [[nodiscard]] bool is_blind() const { return failures_ >= limits_.failures_until_blind; }

private:
    struct Watched {
        JobView view;
        bool speaking = false;
        std::optional<MonotonicTime> absent_since;
    };
    [[nodiscard]] bool take(Watched& watched, MonotonicTime now,
                            std::vector<QueuedJob> const& queue) const;
    [[nodiscard]] bool is_asked_for() const;

    PollLimits limits_;
    std::map<std::string, Watched> jobs_;
    MonotonicTime next_{0};
    MonotonicTime interval_{0};
    bool asking_ = false;
    int failures_ = 0;
};

/// The job of the queue that `key` identifies: its id and, where known, its submit time; a later
/// submit time only with the same name, since that is a requeue.
[[nodiscard]] QueuedJob const* find_job(std::vector<QueuedJob> const& queue, JobKey const& key);

}  // namespace osora::slurm
