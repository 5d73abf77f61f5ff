// NCCL's topology file (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE) to and from a Machine. Pure.
// In it a "pci" element that holds others is a whole PCIe switch, and only the speed that a link
// could have is told: the machine's current speeds are not known. Host bridges are not told either;
// devices of NUMA node 1 get the host "cpu1" (topology/device_path.cpp counts on it).
#pragma once

#include "base/result.hpp"
#include "topology/machine.hpp"

#include <string>
#include <string_view>

namespace osora::topology {

/// invalid_input names the line: XML that is cut off or broken, a document type (entities), deeper
/// than 64 or more than 100,000 elements, no <system>.
[[nodiscard]] Result<Machine> parse_nccl_xml(std::string_view text, std::string name = "");

/// A file that NCCL 2.20 on takes as NCCL_TOPO_FILE: CPUs, switches, GPUs with NVLinks and RDMA
/// cards. For machines whose PCIe tree is known; what NCCL asks the GPUs itself (sm, rank) is left
/// to it.
[[nodiscard]] std::string write_nccl_xml(Machine const& machine);

}  // namespace osora::topology
