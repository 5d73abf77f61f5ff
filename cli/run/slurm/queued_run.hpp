// Follows a run's job through the queue while its journal has no news: what the job waits for,
// whether it is over, and the job that follows it (slurm/queue_poller.hpp decides when squeue is
// called).
#pragma once

#include "cli/run/slurm/slurm_job.hpp"
#include "slurm/queue_poller.hpp"

#include <optional>
#include <string>

namespace osora::cli {

class QueuedRun {
public:
    QueuedRun(Context const& context, RunFolder const& run, slurm::JobRecord record);

    /// Call it a few times per second; it may call squeue. `speaking`: the journal grew lately.
    void tick(bool speaking);
    /// A line that is news: "slurm    job 12 on n[0-3]"; returned once. `queued`: includes news of
    /// the wait.
    [[nodiscard]] std::optional<std::string> news(bool queued);
    /// "job 12 · queued 00:02:11, estimated start 14:20 (Priority)"; "" once it runs.
    [[nodiscard]] std::string waiting() const;
    /// Why nothing more will come; nullopt while something may.
    [[nodiscard]] std::optional<std::string> over() const;
    /// Stops a run that has not started; false: it has started, so its controller must be asked.
    [[nodiscard]] Result<bool> cancel_if_waiting();
    [[nodiscard]] slurm::JobKey const& job() const { return record_.job; }
    /// Whether the batch step has replaced this job by another one, or requeued it.
    [[nodiscard]] bool has_follower();

private:
    [[nodiscard]] slurm::JobView const& view() const;
    void watch();
    [[nodiscard]] std::string why_it_waits() const;

    Context const& context_;
    RunFolder run_;
    slurm::JobRecord record_;
    slurm::QueuePoller poller_;
    std::string said_;
    MonotonicTime since_{};  // the job is pending
};

/// Cancels a run's pending job. nullopt: there is none, or it runs.
[[nodiscard]] std::optional<Result<void>> cancel_waiting_job(Context const& context,
                                                             RunFolder const& run);

}  // namespace osora::cli
