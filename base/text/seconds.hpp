// Seconds that come from a wire, a file or a program, on their way to a duration or a timer: NaN,
// infinities, 1e300 and negative numbers are none. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace osora {

/// `seconds` held to [low, high]; `low` for NaN.
[[nodiscard]] constexpr double seconds_within(double seconds, double low, double high) {
    return seconds > low ? std::min(seconds, high) : low;
}

/// A duration of at least nothing and at most `most_s`: 30 years, beyond which sums with a clock
/// would overflow.
template <class Duration>
[[nodiscard]] constexpr Duration duration_of(double seconds, double most_s = 1e9) {
    std::chrono::duration<double> const held(seconds_within(seconds, 0, most_s));
    return std::chrono::duration_cast<Duration>(held);
}

}  // namespace osora
