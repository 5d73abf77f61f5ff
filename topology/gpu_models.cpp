#include "topology/gpu_models.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace osora::topology {
namespace {

constexpr auto kModels = std::to_array<std::pair<std::string_view, GpuModel>>({
    {"0x1db1", {"Tesla V100-SXM2-16GB", 70, 16, 6}},
    {"0x1db5", {"Tesla V100-SXM2-32GB", 70, 32, 6}},
    {"0x1eb8", {"Tesla T4", 75, 16, 0}},
    {"0x20b0", {"NVIDIA A100-SXM4-40GB", 80, 40, 12}},
    {"0x20b2", {"NVIDIA A100-SXM4-80GB", 80, 80, 12}},
    {"0x20b5", {"NVIDIA A100 80GB PCIe", 80, 80, 12}},
    {"0x20f1", {"NVIDIA A100-PCIE-40GB", 80, 40, 12}},
    {"0x2204", {"NVIDIA GeForce RTX 3090", 86, 24, 4}},
    {"0x2235", {"NVIDIA A40", 86, 48, 4}},
    {"0x2236", {"NVIDIA A10", 86, 24, 0}},
    {"0x2237", {"NVIDIA A10G", 86, 24, 0}},
    {"0x26b5", {"NVIDIA L40", 89, 48, 0}},
    {"0x26b9", {"NVIDIA L40S", 89, 48, 0}},
    {"0x2684", {"NVIDIA GeForce RTX 4090", 89, 24, 0}},
    {"0x27b8", {"NVIDIA L4", 89, 24, 0}},
    {"0x2330", {"NVIDIA H100 80GB HBM3", 90, 80, 18}},
    {"0x2331", {"NVIDIA H100 PCIe", 90, 80, 18}},
    {"0x2335", {"NVIDIA H200", 90, 141, 18}},
    {"0x2901", {"NVIDIA B200", 100, 180, 18}},
});

std::string folded(std::string_view text) {
    std::string lower;
    for (char const each : text) {
        if (each == ' ' || each == '-') continue;
        lower += each >= 'A' && each <= 'Z' ? static_cast<char>(each + ('a' - 'A')) : each;
    }
    return lower;
}

}  // namespace

std::optional<GpuModel> gpu_model(std::string_view device) {
    auto const* const found =
        std::ranges::find(kModels, device, &std::pair<std::string_view, GpuModel>::first);
    if (found == kModels.end()) return {};
    return found->second;
}

std::optional<GpuModel> gpu_model_named(std::string_view name) {
    std::string const wanted = folded(name);
    if (wanted.empty()) return {};
    for (auto const& [id, model] : kModels) {
        if (folded(model.name) == wanted) return model;
    }
    // A short name: the first board of that kind with NVLink, else the first.
    std::optional<GpuModel> found;
    for (auto const& [id, model] : kModels) {
        if (folded(model.name).find(wanted) == std::string::npos) continue;
        if (!found || (found->nvlinks == 0 && model.nvlinks > 0)) found = model;
    }
    return found;
}

}  // namespace osora::topology
