// Converts seconds from a message, a file or a program to a duration or a timer, in which NaN,
// infinities, 1e300 and negative numbers are invalid. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace osora {

/// `seconds` clamped to [low, high]; `low` for NaN.
[[nodiscard]] constexpr double seconds_within(double seconds, double low, double high) {
    return seconds > low ? std::min(seconds, high) : low;
}

/// A duration between zero and `most_s`; the default, 30 years, keeps sums with a clock from
/// overflowing.
template <class Duration>
[[nodiscard]] constexpr Duration duration_of(double seconds, double most_s = 1e9) {
    std::chrono::duration<double> const held(seconds_within(seconds, 0, most_s));
    return std::chrono::duration_cast<Duration>(held);
}

}  // namespace osora
