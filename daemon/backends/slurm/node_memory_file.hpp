// STATE/node_memory.json on disk: read, and extended under a lock. A file that cannot be parsed is
// replaced: it is a hint, never a reason to fail a run.
#pragma once

#include "slurm/node_memory.hpp"

#include <filesystem>

namespace osora::daemon {

/// The file in the state folder that holds `run_dir`.
[[nodiscard]] std::filesystem::path node_memory_path(std::filesystem::path const& run_dir);

[[nodiscard]] slurm::NodeMemory read_node_memory(std::filesystem::path const& path);

struct NodeFault {
    std::string host, cause;
    double weight = 1;
    std::int64_t wall_us = 0;
};
[[nodiscard]] Result<void> remember_fault(std::filesystem::path const& path,
                                          NodeFault const& fault);

}  // namespace osora::daemon
