// Xids: errors of an NVIDIA GPU in the kernel's log and in NVML's events. Header-only.
#pragma once

#include <algorithm>
#include <array>

namespace osora::topology {

/// docs.nvidia.com/deploy/xid-errors: Xids that mostly come from the program that ran.
[[nodiscard]] constexpr bool is_program_xid(int xid) {
    return xid == 13 || xid == 31 || xid == 43 || xid == 45;
}

/// Those after which the GPU cannot be trusted.
[[nodiscard]] constexpr bool is_fatal_xid(int xid) {
    constexpr std::array kFatal{48, 62, 64, 74, 79, 92, 94, 95, 119, 120, 140};
    return std::ranges::find(kFatal, xid) != kFatal.end();
}

}  // namespace osora::topology
