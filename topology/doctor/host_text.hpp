// Parsers of small texts of a node: limits, mounts, lspci, nvidia-smi, the kernel's log. Pure; what
// cannot be read is unknown.
#pragma once

#include "topology/doctor/evidence.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::topology::doctor {

struct ProcessLimits {
    std::int64_t memlock_bytes = kNotKnown;  // the soft one: nothing raises it
    std::int64_t open_files = kNotKnown;     // the hard one: NCCL raises the soft one to it
};
/// /proc/self/limits.
[[nodiscard]] ProcessLimits parse_limits(std::string_view text);
/// Lines of /etc/security/limits.conf: "* soft memlock unlimited" (kB), the last one counts.
[[nodiscard]] ProcessLimits parse_security_limits(std::string_view text);

/// Size of /dev/shm from /proc/mounts; half of `memory_bytes` if no size is given; 0: unknown.
[[nodiscard]] std::int64_t shm_bytes_of(std::string_view mounts, std::int64_t memory_bytes);

/// "on" or "off" by PCI address, for the bridges in `lspci -vvv` that have ACS.
[[nodiscard]] std::map<std::string, std::string> acs_of_lspci(std::string_view text);
/// How the IOMMU treats transfers according to /proc/cmdline.
[[nodiscard]] Iommu iommu_of_cmdline(std::string_view cmdline);

/// Clocks, temperature and memory errors from `nvidia-smi -q`.
struct SmiReport {
    std::vector<GpuState> gpus;
    std::string fabric_state;  // the first that is not Completed, else Completed
};
[[nodiscard]] SmiReport parse_nvidia_smi(std::string_view text);

/// Xids in the kernel's log, by PCI address in lower case: "0000:3b:00". A GPU that "has fallen off
/// the bus" has 79, as newer drivers do not always write one.
[[nodiscard]] std::map<std::string, std::vector<int>> xids_of_dmesg(std::string_view text);

/// What the driver itself calls fatal, the first of each GPU: "149, NETIR_LINK_EVT Fatal XC0 i0
/// Link 00", "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)".
[[nodiscard]] std::map<std::string, std::string> fatal_events_of_dmesg(std::string_view text);

/// "SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up": errors reported by NVSwitches
/// that end the work of their GPUs.
[[nodiscard]] std::vector<std::string> fatal_sxids_of_dmesg(std::string_view text);

}  // namespace osora::topology::doctor
