// Converts hwloc's objects to plain cores. Ignores PCI: sysfs has the same, and hwloc's plug-ins
// would start the GPU drivers. Filters no type, because hwloc attaches NUMA nodes to groups.
#include "topology/live/hwloc_cores_internal.hpp"
#include "topology/live/read_cores.hpp"

#include <algorithm>

namespace osora::topology {
namespace {

/// If several kinds of memory are next to one core, the first counts, as for the kernel.
int numa_of(hwloc_topology_t topology, hwloc_obj_t core) {
    hwloc_obj_t node = nullptr;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
        if (hwloc_bitmap_intersects(node->cpuset, core->cpuset) != 0) {
            return static_cast<int>(node->logical_index);
        }
    }
    return 0;
}

Core core_of(hwloc_topology_t topology, hwloc_obj_t object, std::vector<int> const& usable) {
    Core core;
    int cpu = -1;
    while ((cpu = hwloc_bitmap_next(object->cpuset, cpu)) >= 0) {
        if (std::ranges::binary_search(usable, cpu)) core.cpus.push_back(cpu);
    }
    core.numa = numa_of(topology, object);
    auto const* package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
    core.package = package != nullptr ? static_cast<int>(package->logical_index) : 0;
    return core;
}

}  // namespace

Topology new_topology() {
    hwloc_topology_t made = nullptr;
    if (hwloc_topology_init(&made) != 0) return {};
    return Topology(made);
}

std::vector<Core> cores_of(hwloc_topology_t topology, std::vector<int> const& usable) {
    // Some virtual machines report no cores: then each hardware thread counts as one.
    bool const has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
    auto const type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    std::vector<Core> cores;
    hwloc_obj_t object = nullptr;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
        Core core = core_of(topology, object, usable);
        if (!core.cpus.empty()) cores.push_back(std::move(core));
    }
    // hwloc's order is by package; a NUMA node may span packages of virtual machines.
    std::ranges::stable_sort(cores, {}, &Core::numa);
    return cores;
}

std::vector<Core> read_cores(std::vector<int> const& usable) {
    Topology const topology = new_topology();
    if (!topology || hwloc_topology_load(topology.get()) != 0) return {};
    return cores_of(topology.get(), usable);
}

}  // namespace osora::topology
