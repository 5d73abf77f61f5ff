// Private to worker/data: 8-bit 4:2:0 to RGB, within one level of the exact equations. (libyuv's
// own conversion is up to 5 levels off in blue for BT.709: its SIMD keeps factors in 7 bits.) Pure.
#pragma once

#include <cstdint>
#include <span>

namespace osora::worker {

/// Luma weights of red and blue (ITU-T H.273, 8.3), and whether 0..255 or 16..235 is black..white.
struct YuvMatrix {
    double kr = 0.299;
    double kb = 0.114;
    bool full_range = false;
};

struct YuvPlanes {
    std::uint8_t const* y = nullptr;  // height rows of width
    std::uint8_t const* u = nullptr;  // (height + 1) / 2 rows of (width + 1) / 2
    std::uint8_t const* v = nullptr;
    int y_stride = 0;  // bytes
    int u_stride = 0;
    int v_stride = 0;
    int height = 0;
    int width = 0;
};

/// `out`: height x width x 3 bytes, R first.
void yuv420_to_rgb(YuvPlanes const& planes, YuvMatrix const& matrix, std::span<std::uint8_t> out);

}  // namespace osora::worker
