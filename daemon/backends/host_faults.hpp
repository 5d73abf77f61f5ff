// Faults of hosts, which osora remembers over runs (protocol/node_memory.hpp). Private to backends.
#pragma once

#include "base/log/log.hpp"
#include "protocol/node_memory.hpp"

#include <filesystem>
#include <functional>

namespace osora::daemon {

using OnHostFault = std::function<void(protocol::HostFault const&)>;

/// Adds each fault to the node memory of the run's state folder; one that cannot be added is only
/// logged. `log` must outlive the result.
[[nodiscard]] OnHostFault fault_recorder(std::filesystem::path const& run_dir, Logger& log);

/// Logs that a host failed, and hands the fault to `on_fault`, which may be empty.
void report_fault(protocol::HostFault const& fault, OnHostFault const& on_fault, Logger& log);

}  // namespace osora::daemon
