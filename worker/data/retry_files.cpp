#include "worker/data/retry_files.hpp"

#include <algorithm>
#include <chrono>

namespace osora::worker {

double steady_now_s() {
    std::chrono::duration<double> const now = std::chrono::steady_clock::now().time_since_epoch();
    return now.count();
}

Retried retry_files(RetryBudget& budget, RetryCalls const& calls) {
    for (int tries = 0;; ++tries) {
        auto const pause_s = budget.pause_s(tries);
        if (!pause_s) return Retried::out_of_time;
        calls.say(*pause_s);
        double const start_s = calls.now_s();
        if (!calls.pause(*pause_s)) return Retried::stopped;
        bool const ended = calls.attempt();
        budget.spend(std::max(*pause_s, calls.now_s() - start_s));
        if (ended) return Retried::ended;
    }
}

}  // namespace osora::worker
