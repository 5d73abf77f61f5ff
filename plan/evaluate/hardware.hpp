// GPUs in the step-time model: peaks, memory, links. The figures are in gpus.toml, each with its
// source; users add GPUs in a file of the same form.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace osora::plan {

struct Hardware {
    std::string name;              // "a100-80g-sxm"
    double bf16_tflops = 0;        // dense peak of matrix products, also fp16
    double fp8_tflops = 0;         // 0: not supported
    double fp32_tflops = 0;        // TF32 if available
    double sustained_share = 1;    // of the peak under the power limit, (0, 1]
    double memory_gbps = 0;        // GB/s
    double memory_gib = 0;         // GiB
    double link_gbps = 0;          // GB/s in one direction to the node's other GPUs
    double domain_gpus = 0;        // GPUs in one NVLink domain across nodes; 0: only those of a
                                   // node
    double element_share = 1;      // factor for the bytes that norms, activations and modulation
                                   // move
    double nic_sharing_share = 1;  // factor for nic_sharing: less if each GPU has a NIC and rail
    double bf16 = 1;               // 0: not supported; bf16_tflops are then fp16
    double launch_share = 1;       // factor for launch_us: less if frameworks replay CUDA graphs
};

/// The text of gpus.toml.
[[nodiscard]] std::string_view built_in_gpus();

class HardwareTable {
public:
    /// The built-in GPUs.
    [[nodiscard]] static HardwareTable built_in();
    /// Adds the [gpu.NAME] tables of a TOML text, which override those with the same name. A known
    /// name needs to give only what differs. invalid_input: "FILE:LINE: gpu.x.key: why".
    [[nodiscard]] Result<void> add(std::string_view toml, std::string_view file);
    /// Finds a name of the table, a shorter one ("h100"), or that of a driver ("NVIDIA H100 80GB
    /// HBM3"). not_found names the nearest, else all of them.
    [[nodiscard]] Result<Hardware> find(std::string_view name) const;
    [[nodiscard]] std::vector<Hardware> const& all() const { return all_; }

private:
    std::vector<Hardware> all_;
};

}  // namespace osora::plan
