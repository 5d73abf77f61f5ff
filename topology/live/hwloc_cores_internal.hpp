// Private to the reader and its tests: hwloc's topology as plain cores.
#pragma once

#include "topology/core_binding.hpp"

#include <hwloc.h>

#include <memory>
#include <type_traits>
#include <vector>

namespace osora::topology {

struct DestroyTopology {
    void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

/// A topology without devices, not loaded yet. Empty: hwloc failed.
[[nodiscard]] Topology new_topology();
/// Cores of a loaded topology, with the hardware threads that are in `usable`.
[[nodiscard]] std::vector<Core> cores_of(hwloc_topology_t topology, std::vector<int> const& usable);

}  // namespace osora::topology
