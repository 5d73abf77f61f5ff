// The PCI slots of this machine's GPUs, from the files under a root directory: makes no driver
// call, so a GPU that hangs blocks nobody.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology {

struct GpuPlace {
    std::string bus_id;          // "0000:1b:00.0"
    std::string uuid;            // "GPU-..."; "" = unknown
    std::vector<int> near_cpus;  // empty: unknown, or all alike
};

/// GPUs of NVIDIA's driver, by bus id: the order of NVML, and of CUDA if all are of one kind.
[[nodiscard]] std::vector<GpuPlace> read_gpu_places(std::filesystem::path const& root = "/");

/// The GPUs in `list`, in its order: numbers, or UUIDs and unique prefixes of them, as in
/// CUDA_VISIBLE_DEVICES; it ends at the first invalid entry.
[[nodiscard]] std::vector<GpuPlace> visible_gpus(std::vector<GpuPlace> const& gpus,
                                                 std::string_view list);

}  // namespace osora::topology
