#include "cli/text/wall_time.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

namespace osora::cli {

std::string utc_text(std::optional<std::int64_t> wall_us) {
    if (!wall_us) return "-";
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                       fmt::gmtime(static_cast<std::time_t>(*wall_us / 1'000'000)));
}

std::string clock_time(std::int64_t seconds) {
    std::time_t const time = seconds;
    std::time_t const today = std::time(nullptr);
    std::tm parts{};
    std::tm here{};
    ::localtime_r(&time, &parts);
    ::localtime_r(&today, &here);
    bool const same_day = parts.tm_yday == here.tm_yday && parts.tm_year == here.tm_year;
    std::string const at = fmt::format("{:02}:{:02}", parts.tm_hour, parts.tm_min);
    if (same_day) return at;
    return fmt::format("{}-{:02}-{:02} {}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       at);
}

}  // namespace osora::cli
