// Where the GPUs of this machine are plugged in, from the files under a root directory: no driver
// call is made, so a GPU that hangs holds nobody up.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology {

struct GpuPlace {
    std::string bus_id;          // "0000:1b:00.0"
    std::string uuid;            // "GPU-..."; "" = not told
    std::vector<int> near_cpus;  // empty: not told, or all alike
};

/// Of NVIDIA's driver, by bus id: the order of NVML, and of CUDA where all are of one kind.
[[nodiscard]] std::vector<GpuPlace> read_gpu_places(std::filesystem::path const& root = "/");

/// Those that `list` names, in its order: numbers, or UUIDs and unique starts of them, as in
/// CUDA_VISIBLE_DEVICES; it ends where it names none.
[[nodiscard]] std::vector<GpuPlace> visible_gpus(std::vector<GpuPlace> const& gpus,
                                                 std::string_view list);

}  // namespace osora::topology
