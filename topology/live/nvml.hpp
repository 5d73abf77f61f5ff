// NVIDIA's management library, loaded at run time if present. Its calls may block for as long as
// the driver does: use it from a thread that nobody waits for.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace osora::topology {

/// Unknown values are NaN, or 0.
struct GpuReading {
    int index = 0;
    double temperature_c = std::numeric_limits<double>::quiet_NaN();
    double power_w = std::numeric_limits<double>::quiet_NaN();
    double sm_mhz = std::numeric_limits<double>::quiet_NaN();
    std::uint64_t throttle_reasons = 0;  // NVML's bits
    std::uint64_t ecc_uncorrected = 0;   // since the driver was loaded
    std::uint64_t memory_used_bytes = 0;
    std::vector<int> xids = {};  // since the last reading
};

class Nvml {
public:
    virtual ~Nvml() = default;
    /// One entry for each GPU that answers.
    [[nodiscard]] virtual std::vector<GpuReading> read() = 0;
};

/// None if the library or a GPU is missing.
[[nodiscard]] std::unique_ptr<Nvml> open_nvml(std::string const& library = "libnvidia-ml.so.1");

}  // namespace osora::topology
