#include "base/text/units.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace osora {
namespace {

std::string three_digits(double value, char const* unit) {
    int const decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, unit);
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
    constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double const size = std::abs(static_cast<double>(bytes));
    std::string const sign = bytes < 0 ? "-" : "";
    if (size < static_cast<double>(kKiB)) return fmt::format("{}{:.0f} B", sign, size);
    std::size_t unit = 0;
    double scaled = size / 1024.0;
    while (scaled >= 1023.5 && unit + 1 < kUnits.size()) {
        scaled /= 1024.0;
        ++unit;
    }
    return sign + three_digits(scaled, kUnits[unit]);
}

std::string format_seconds(double seconds) {
    if (seconds < 0) return "-" + format_seconds(-seconds);
    if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
    if (seconds < 0.9995) return three_digits(seconds * 1e3, "ms");
    if (seconds < 99.5) return three_digits(seconds, "s");
    auto const whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    if (whole < 86400) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
    return fmt::format("{} d {:02} h", whole / 86400, whole % 86400 / 3600);
}

std::string format_gbit_per_s(double gbit_s) {
    constexpr double kMbitPerGbit = 1000;
    if (gbit_s < 1) return fmt::format("{:.3g} Mbit/s", gbit_s * kMbitPerGbit);
    return gbit_s < 1000 ? fmt::format("{:.3g} Gbit/s", gbit_s)
                         : fmt::format("{:.0f} Gbit/s", gbit_s);
}

std::string format_count(std::int64_t value) {
    std::string digits = std::to_string(value);
    int const first = value < 0 ? 1 : 0;
    for (int at = static_cast<int>(digits.size()) - 3; at > first; at -= 3) {
        digits.insert(static_cast<std::size_t>(at), ",");
    }
    return digits;
}

}  // namespace osora
