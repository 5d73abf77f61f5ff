// Private to worker/data: crops and resizes a decoded picture of any format and converts it to RGB
// in the caller's memory. One per thread; keeps its scratch memory.
#pragma once

#include "plan/buckets/crop.hpp"
#include "worker/data/frames/av_handles_internal.hpp"
#include "worker/data/frames/decoder.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace osora::worker {

using plan::CropBox;
/// As plan::centre_crop().
[[nodiscard]] CropBox centre_crop(int width, int height, FrameSize size);

class Scaler {
public:
    /// `out`: height x width x 3 bytes of `size`, as a player shows the picture: it is cropped and
    /// resized as stored, then rotated. 8-bit 4:2:0 goes through libyuv's box filter, everything
    /// else through swscale (area or bilinear). Colours by the picture's matrix and range; without
    /// one BT.601, limited, as in the ffmpeg program. Errors: corrupt (a matrix or an angle that
    /// cannot be converted).
    [[nodiscard]] Result<void> to_rgb(AVFrame& frame, FrameSize size, std::span<std::uint8_t> out);

private:
    Result<void> stored_to_rgb(AVFrame& frame, FrameSize size, std::span<std::uint8_t> out);
    Result<void> planes_to_rgb(AVFrame const& frame, FrameSize size, std::span<std::uint8_t> out);
    Result<void> any_to_rgb(AVFrame const& frame, FrameSize size, std::span<std::uint8_t> out);

    std::vector<std::uint8_t> planes_;  // I420 of the last size
    std::vector<std::uint8_t> rows_;    // RGB with padded rows
    std::vector<std::uint8_t> stored_;  // RGB before it is rotated
    SwsHandle sws_;
};

}  // namespace osora::worker
