// Facts of the GPUs from NVIDIA's management library, read once at start. Its calls may block for
// as long as the driver does: use it where the caller can stop waiting.
#pragma once

#include "topology/machine.hpp"

#include <string>
#include <vector>

namespace osora::topology {

struct NvmlGpus {
    std::vector<MachineGpu> gpus;  // by PCI address; without numa
    std::string driver;            // "550.54.15"
};

/// Name, UUID, memory, compute capability, PCIe link, NVLinks that are up with their other ends,
/// and the NVLink domain of a GPU that has joined one. Empty if the library or a GPU is missing;
/// what a driver cannot report stays unknown.
[[nodiscard]] NvmlGpus read_nvml_gpus(std::string const& library = "libnvidia-ml.so.1");

}  // namespace osora::topology
