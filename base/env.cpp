// RealEnv: CLOCK_MONOTONIC, CLOCK_REALTIME, getrandom.
#include "base/env.hpp"

#include "base/check.hpp"

#include <sys/random.h>

namespace osora {

MonotonicTime RealEnv::now() const {
    return std::chrono::steady_clock::now().time_since_epoch();
}

std::int64_t RealEnv::wall_us() const {
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

std::uint64_t RealEnv::random() {
    std::uint64_t number = 0;
    auto const got = getrandom(&number, sizeof number, 0);
    OSORA_CHECK_EQ(got, static_cast<ssize_t>(sizeof number));
    return number;
}

}  // namespace osora
