// Units in the form that users read: sizes, times, rates. Names of variables end in their unit.
#pragma once

#include <cstdint>
#include <string>

namespace osora {

constexpr double kSecondsPerHour = 3600;
constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kGiB = 1024 * kMiB;

[[nodiscard]] constexpr double gib(std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(kGiB);
}

/// "512 B", "1.5 KiB", "61.4 GiB": three significant digits, binary prefixes.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);

/// "850 us", "12.3 ms", "7.28 s", "4 min 10 s", "3 h 05 min", "5 d 19 h"; negative: with a sign.
[[nodiscard]] std::string format_seconds(double seconds);

/// "243 Mbit/s", "3.62 Gbit/s", "369 Gbit/s": three significant digits.
[[nodiscard]] std::string format_gbit_per_s(double gbit_s);

/// "1,208" : groups of three digits.
[[nodiscard]] std::string format_count(std::int64_t value);

}  // namespace osora
