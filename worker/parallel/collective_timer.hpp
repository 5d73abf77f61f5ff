// Counts the collectives of one class in a step of this rank: calls, bytes, and the time in which
// any of them was in flight. Their callers report them; it starts nothing and never fails.
#pragma once

#include "protocol/steps/collectives.hpp"
#include "worker/parallel/process_group.hpp"

#include <c10/util/intrusive_ptr.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace c10d {
class Work;
}

namespace osora::worker {

class CollectiveTimer {
public:
    using Clock = std::chrono::steady_clock;

    /// `name`: of the class; `collective`: all_reduce, barrier, ... over `backend`.
    CollectiveTimer(std::string name, std::string collective, c10d::Backend& backend);
    ~CollectiveTimer();
    CollectiveTimer(CollectiveTimer&&) noexcept;

    /// Begins a step.
    void begin();
    /// A collective was started at `start`. Its end is recorded when the backend reports it (Gloo),
    /// or read from the device's events by cost() (NCCL).
    void started(Clock::time_point start, c10::intrusive_ptr<c10d::Work> work, std::int64_t bytes);
    /// Number of those started in this step.
    [[nodiscard]] std::size_t count() const { return calls_.size(); }
    /// Call `index` of this step ends now, unless its backend has reported that (Gloo reports no
    /// ends of messages between two ranks).
    void ended(std::size_t index);

    /// Costs of this step; `exposed_s`: what the rank waited for them. Call it when all are done,
    /// on a GPU after a synchronisation.
    [[nodiscard]] protocol::CollectiveCost cost(double exposed_s) const;

private:
    struct Call {
        Clock::time_point start;
        std::shared_ptr<std::atomic<Clock::rep>> done;  // since the clock's epoch; 0: not reported
        c10::intrusive_ptr<c10d::Work> work;            // that keeps its own time; else null
    };
    [[nodiscard]] double seconds() const;

    protocol::CollectiveCost counted_;  // names, group and counts
    bool device_times_ = false;
    std::vector<Call> calls_;
};

}  // namespace osora::worker
