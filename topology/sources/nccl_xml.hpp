// Converts NCCL's topology file (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE) to and from a Machine. Pure.
// In it a "pci" element that contains others is a whole PCIe switch, and only the maximum speed of
// a link is given: the machine's current speeds are unknown. Host bridges are missing too; devices
// of NUMA node 1 get the host "cpu1" (topology/device_path.cpp relies on it).
#pragma once

#include "base/result.hpp"
#include "topology/machine.hpp"

#include <string>
#include <string_view>

namespace osora::topology {

/// invalid_input names the line: XML that is cut off or broken, a document type (entities), deeper
/// than 64 or more than 100,000 elements, no <system>.
[[nodiscard]] Result<Machine> parse_nccl_xml(std::string_view text, std::string name = "");

/// A file that NCCL 2.20 and later accept as NCCL_TOPO_FILE: CPUs, switches, GPUs with NVLinks and
/// RDMA cards. For machines whose PCIe tree is known; omits what NCCL asks the GPUs itself (sm,
/// rank).
[[nodiscard]] std::string write_nccl_xml(Machine const& machine);

}  // namespace osora::topology
