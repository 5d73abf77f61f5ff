// What an agent reports about its node when it joins, and the kernel's count of out-of-memory
// kills. Files are read below `root` ("/" except in tests); what cannot be read is left out.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace osora::daemon {

/// "cpu", "cpus" (that this process may use), "memory_gib", "kernel", "os".
[[nodiscard]] std::map<std::string, std::string> node_facts(std::filesystem::path const& root);

/// oom_kill of this process's cgroup (v2); nullopt where there is none.
[[nodiscard]] std::optional<long> oom_kills(std::filesystem::path const& root);

}  // namespace osora::daemon
