// The health of a node, from its agent: sampled every ten seconds, reported when there is news and
// a few times an hour. In the journal it changes no state.
#pragma once

#include <boost/describe.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace osora::protocol {

/// Figures that the driver does not report are NaN.
struct GpuHealth {
    int gpu = 0;  // NVML's index
    double temperature_c = std::numeric_limits<double>::quiet_NaN();
    double power_w = std::numeric_limits<double>::quiet_NaN();
    double sm_mhz = std::numeric_limits<double>::quiet_NaN();
    std::int64_t throttle_reasons = 0;  // NVML's bits: kThrottle...
    std::int64_t ecc_uncorrected = 0;   // since the driver was loaded
    std::int64_t memory_used_bytes = 0;
    std::vector<int> xids = {};  // since the last record of this node
};
struct NodeHealth {
    static constexpr std::string_view kType = "health";
    int node = 0;
    std::int64_t number = 0;  // 0-based count of records of this agent
    std::string why;          // "regular", or the news: "GPU 3: Xid 79"
    double load = std::numeric_limits<double>::quiet_NaN();  // over the last minute
    // 0: not known
    std::int64_t memory_available_bytes = 0, cgroup_memory_bytes = 0;
    std::int64_t disk_free_bytes = 0;  // on the file system of the run directory
    std::vector<GpuHealth> gpus = {};
};

// Bits of throttle_reasons that mean trouble: not idle, not a power cap, not a clock that was set.
constexpr std::int64_t kThrottleHardware = 0x8, kThrottleThermalSoftware = 0x20,
                       kThrottleThermalHardware = 0x40, kThrottlePowerBrake = 0x80;
constexpr std::int64_t kThrottleTrouble =
    kThrottleHardware | kThrottleThermalSoftware | kThrottleThermalHardware | kThrottlePowerBrake;
constexpr double kGpuHot_c = 85;

constexpr std::size_t kHealthGpusMax = 64, kHealthXidsMax = 16;  // of a record; xids: of a GPU

BOOST_DESCRIBE_STRUCT(GpuHealth, (),
                      (gpu, temperature_c, power_w, sm_mhz, throttle_reasons, ecc_uncorrected,
                       memory_used_bytes, xids))
BOOST_DESCRIBE_STRUCT(NodeHealth, (),
                      (node, number, why, load, memory_available_bytes, cgroup_memory_bytes,
                       disk_free_bytes, gpus))

}  // namespace osora::protocol
