// Private to the readers of NCCL's log.
#pragma once

#include "topology/doctor/log/nccl_log.hpp"

#include <optional>

namespace osora::topology::doctor {

constexpr std::size_t kLogNamesMax = 64;  // maximum of each kind: a log may be hostile
constexpr std::size_t kLogLineBytesMax = 240;

/// The text after `key` in the line; nullopt if it is missing.
[[nodiscard]] inline std::optional<std::string_view> after(std::string_view line,
                                                           std::string_view key) {
    std::size_t const at = line.find(key);
    if (at == std::string_view::npos) return {};
    return line.substr(at + key.size());
}

[[nodiscard]] inline std::string_view until(std::string_view text, std::string_view stops) {
    return text.substr(0, text.find_first_of(stops));
}

/// Whether NCCL, or PyTorch about NCCL, may have written it.
[[nodiscard]] inline bool is_of_nccl(std::string_view line) {
    for (std::string_view const each : {"NCCL", "NET/OFI", "Duplicate GPU detected",
                                        "RCCL version ", "watchdog thread terminated with"}) {
        if (line.find(each) != std::string_view::npos) return true;
    }
    return false;
}

inline void keep_name(std::set<std::string>& into, std::string_view value) {
    bool const fits = !value.empty() && value.size() <= 64 && into.size() < kLogNamesMax;
    if (fits) into.emplace(value);
}

/// Records in `log` the problem that the line reports, or a warning of NCCL that is no known one.
void read_trouble(NcclLog& log, std::string_view line);

}  // namespace osora::topology::doctor
