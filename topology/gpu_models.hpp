// NVIDIA's data-centre and common desktop GPUs by PCI id. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace osora::topology {

struct GpuModel {
    std::string_view name;
    int compute_capability = 0;  // 80, 90
    std::int64_t memory_gib = 0;
    int nvlinks = 0;  // of the board
};

/// `device`: "0x2330". Source: the PCI id database, NVIDIA's data sheets.
[[nodiscard]] std::optional<GpuModel> gpu_model(std::string_view device);

/// By a name from the driver: "NVIDIA A100-SXM4-40GB", "h100".
[[nodiscard]] std::optional<GpuModel> gpu_model_named(std::string_view name);

}  // namespace osora::topology
