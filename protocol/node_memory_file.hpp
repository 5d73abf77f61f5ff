// STATE/node_memory.json on disk: read, and changed under a lock. Read before a launch on Slurm or
// by ssh, written by the controller after a fault, and by osora nodes.
#pragma once

#include "base/result.hpp"
#include "protocol/node_memory.hpp"
#include "protocol/state_paths.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::protocol {

/// Without the file: no node. io: it cannot be read; invalid_input: it is damaged; both name it.
[[nodiscard]] Result<NodeMemory> read_node_memory(StatePaths const& state);

/// bad_hosts() of the file. It is a hint and never a reason to fail a run: if it cannot be read, no
/// host is bad.
[[nodiscard]] std::vector<std::string> remembered_bad_hosts(StatePaths const& state,
                                                            std::int64_t now_us);

/// Adds the fault; a file that cannot be read is replaced. busy: another process holds its lock.
[[nodiscard]] Result<void> remember_fault(StatePaths const& state,
                                          HostFault const& fault, std::int64_t now_us);

/// Removes the record of the host; false: it had none. busy, and as read_node_memory().
[[nodiscard]] Result<bool> forget_node(StatePaths const& state, std::string const& host);

}  // namespace osora::protocol
