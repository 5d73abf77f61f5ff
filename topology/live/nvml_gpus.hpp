// What NVIDIA's management library tells of the GPUs themselves: once, at start. Its calls may
// block for as long as the driver likes: use it where somebody can give up waiting.
#pragma once

#include "topology/machine.hpp"

#include <string>
#include <vector>

namespace osora::topology {

struct NvmlGpus {
    std::vector<MachineGpu> gpus;  // by PCI address; numa is not told
    std::string driver;            // "550.54.15"
};

/// Name, UUID, memory, compute capability, PCIe link, NVLinks that are up with their other ends,
/// and the NVLink domain of a GPU that has joined one. Empty where the library or a GPU is not
/// there; what a driver cannot tell stays "not known".
[[nodiscard]] NvmlGpus read_nvml_gpus(std::string const& library = "libnvidia-ml.so.1");

}  // namespace osora::topology
