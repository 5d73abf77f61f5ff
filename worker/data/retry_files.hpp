// Files that a file system did not give are tried again until it does, the time is over, or the
// caller is to stop. The caller says how to pause, so that a stop order ends the pause.
#pragma once

#include "base/result.hpp"
#include "worker/data/retry_budget.hpp"

#include <functional>
#include <type_traits>

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

struct FileWait {
    double limit_s = 0;
    std::function<void(Error const& why, double pause_s)> say;  // before each pause
    std::function<bool(double pause_s)> pause;                  // false: the caller is to stop
    std::function<double()> now_s = steady_now_s;
};

/// What `open` gives, again while that is Errc::io: a file system that is away may come back.
/// Errors: those of the last attempt; cancelled: the caller is to stop.
template <class Open>
[[nodiscard]] std::invoke_result_t<Open> open_in_time(FileWait const& wait, Open const& open) {
    auto opened = open();
    auto const is_away = [&opened] {
        return opened.has_error() && opened.error().code == Errc::io;
    };
    if (!is_away()) return opened;
    RetryBudget budget(wait.limit_s);
    auto const attempt = [&] {
        opened = open();
        return !is_away();
    };
    auto const say = [&](double pause_s) { wait.say(opened.error(), pause_s); };
    auto const retried = retry_files(
        budget, {.attempt = attempt, .say = say, .pause = wait.pause, .now_s = wait.now_s});
    if (retried != Retried::stopped) return opened;
    return Error{Errc::cancelled, "ordered to stop: " + opened.error().message};
}

}  // namespace osora::worker
