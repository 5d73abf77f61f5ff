// Private to worker/data: the sample aspect ratio in an H.264 stream's own headers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace osora::worker {

struct PixelRatio {
    int width = 1;
    int height = 1;
    friend bool operator==(PixelRatio const&, PixelRatio const&) = default;
};

/// `extradata`: avcC (ISO/IEC 14496-15, 5.2.4.1). nullopt: its first sequence parameter set gives
/// none, or cannot be read.
[[nodiscard]] std::optional<PixelRatio> h264_pixel_ratio(std::span<std::uint8_t const> extradata);

}  // namespace osora::worker
