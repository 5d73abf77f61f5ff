// What the daemon does when the controller of a run has ended. Pure.
#pragma once

#include "daemon/clock.hpp"

#include <deque>
#include <string>

namespace osora::daemon {

struct ControllerEnd {
    bool known = false;  // it was our child: code and signal are known
    int exit_code = 0, signal = 0;
    bool unclean_exit = false;     // controller.json still exists: it did not exit cleanly
    std::string not_started = {};  // why no controller controlled the run; empty: one did
};

enum class AfterEnd { forget, restart, give_up };

struct SupervisionStep {
    AfterEnd what = AfterEnd::forget;
    MonotonicTime delay{};  // before a restart
    std::string why;        // for the log
};

class Supervision {
public:
    static constexpr std::size_t kCrashesMax = 5;  // within kWindow; then the run is given up
    static constexpr MonotonicTime kWindow = std::chrono::minutes(1);

    /// Restarts at once after the first crash, then after 0.5 s, 1 s, 2 s, 4 s.
    [[nodiscard]] SupervisionStep on_end(MonotonicTime now, ControllerEnd const& end);

private:
    std::deque<MonotonicTime> crashes_;
};

}  // namespace osora::daemon
