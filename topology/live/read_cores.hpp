// The cores of this machine as hwloc sees them. Without hwloc (OSORA_WITH_HWLOC) it knows none, and
// ranks are not bound.
#pragma once

#include "topology/core_binding.hpp"

#include <vector>

namespace osora::topology {

/// CPUs that process `pid` may run on (0: this one), ascending; empty: the kernel does not say.
[[nodiscard]] std::vector<int> usable_cpus(int pid);

/// Cores with a hardware thread among `usable`, in hwloc's order. Empty: not known. Takes some
/// milliseconds; looks at no device.
[[nodiscard]] std::vector<Core> read_cores(std::vector<int> const& usable);

}  // namespace osora::topology
