// Wall-clock times as people read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace osora::cli {

/// "2026-11-21 22:50:12 UTC"; "-" when unknown.
[[nodiscard]] std::string utc_text(std::optional<std::int64_t> wall_us);

/// Seconds since 1970 as "14:20", with the date when that is not today's; local time.
[[nodiscard]] std::string clock_time(std::int64_t seconds);

}  // namespace osora::cli
