// Files that a file system did not give are tried again until it does, the time is over, or the
// caller is to stop. The caller says how to pause, so that a stop order ends the pause.
#pragma once

#include "worker/data/retry_budget.hpp"

#include <functional>

namespace osora::worker {

/// The time of std::chrono::steady_clock.
[[nodiscard]] double steady_now_s();

struct RetryCalls {
    std::function<bool()> attempt;              // true: no further one, whatever came of it
    std::function<void(double pause_s)> say;    // before each pause
    std::function<bool(double pause_s)> pause;  // false: the caller is to stop
    std::function<double()> now_s = steady_now_s;
};

enum class Retried { ended, out_of_time, stopped };

/// After a first attempt that failed. Pauses and attempts are spent from `budget`.
[[nodiscard]] Retried retry_files(RetryBudget& budget, RetryCalls const& calls);

}  // namespace osora::worker
