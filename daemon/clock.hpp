// Time as the pure parts of the daemon see it: always an argument, virtual in simulations.
#pragma once

#include <chrono>
#include <cstdint>

namespace osora::daemon {

using MonotonicTime = std::chrono::nanoseconds;  // of this process; never jumps

struct Now {
    MonotonicTime monotonic{};
    std::int64_t wall_us = 0;  // since 1970; may jump, used only for records
};

/// "never", for deadlines.
constexpr MonotonicTime kNever = MonotonicTime::max();

}  // namespace osora::daemon
