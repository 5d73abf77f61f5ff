// A node in detail from the files under a root directory: "/" of this machine, or a recorded tree,
// also one whose links were replaced by folders. Calls no driver. A file that is missing or invalid
// leaves its field unknown.
#pragma once

#include "topology/machine.hpp"

#include <filesystem>
#include <string>

namespace osora::topology {

/// Reads sys/bus/pci/devices, sys/class/{infiniband,net}, sys/devices/system/{node,cpu},
/// proc/{cpuinfo,meminfo}, proc/driver/nvidia, and addresses of interfaces from proc/net. `name`:
/// its name; "" = its host name. A tree without any of these gives an empty Machine.
[[nodiscard]] Machine read_machine(std::filesystem::path const& root, std::string const& name = "");

}  // namespace osora::topology
