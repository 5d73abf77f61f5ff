// The cores of this machine according to hwloc. Without hwloc (OSORA_WITH_HWLOC) there are none,
// and ranks are not bound.
#pragma once

#include "topology/core_binding.hpp"

#include <vector>

namespace osora::topology {

/// CPUs that process `pid` may run on (0: this one), ascending; empty: unknown.
[[nodiscard]] std::vector<int> usable_cpus(int pid);

/// Cores with a hardware thread in `usable`, in hwloc's order. Empty: unknown. Takes some
/// milliseconds; accesses no device.
[[nodiscard]] std::vector<Core> read_cores(std::vector<int> const& usable);

}  // namespace osora::topology
