// Xids: errors of an NVIDIA GPU in the kernel's log and in NVML's events. Header-only.
#pragma once

#include <algorithm>
#include <array>

namespace osora::topology {

/// docs.nvidia.com/deploy/xid-errors: Xids after which the GPU cannot be trusted. Others, such as
/// 13, 31, 43 and 45, mostly come from the program that ran.
[[nodiscard]] constexpr bool is_fatal_xid(int xid) {
    constexpr std::array kFatal{48, 62, 64, 74, 79, 92, 94, 95, 119, 120, 140};
    return std::ranges::find(kFatal, xid) != kFatal.end();
}

}  // namespace osora::topology
