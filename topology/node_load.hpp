// How busy this machine is, from the files under a root directory ("/" in programs).
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

namespace osora::topology {

struct NodeLoad {
    double load = std::numeric_limits<double>::quiet_NaN();  // of the last minute; NaN: not known
    // 0: not known
    std::int64_t memory_available_bytes = 0;  // MemAvailable
    std::int64_t cgroup_memory_bytes = 0;     // that this process's cgroup uses (v2, else v1)
};

[[nodiscard]] NodeLoad read_node_load(std::filesystem::path const& root = "/");

/// "0.52 0.41 0.30 1/523 4242" -> 0.52
[[nodiscard]] std::optional<double> load_of(std::string_view loadavg);
/// "MemAvailable:   1024 kB" of /proc/meminfo, in bytes.
[[nodiscard]] std::optional<std::int64_t> available_memory_bytes(std::string_view meminfo);

}  // namespace osora::topology
