// Private to worker/data: how a player shows the pictures of a stream: turned and mirrored by its
// display matrix, stretched by its sample aspect ratio. Pure.
#pragma once

#include "base/result.hpp"
#include "worker/data/frames/decoder.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace osora::worker {

/// Shown pictures are the stored picture, transposed, then mirrored.
struct Display {
    bool transposed = false;  // its rows are shown as columns
    bool mirrored_x = false;  // left and right are swapped
    bool mirrored_y = false;  // top and bottom
    int pixel_width = 1;      // of a stored pixel: pixel_width / pixel_height is its aspect ratio
    int pixel_height = 1;

    [[nodiscard]] bool turns() const { return transposed || mirrored_x || mirrored_y; }
    friend bool operator==(Display const&, Display const&) = default;
};

/// `matrix`: a b u c d v x y w (ISO/IEC 14496-12, 8.3.2, as FFmpeg returns it); empty: none. Angles
/// near a multiple of 90 degrees are rounded to it. Errors: corrupt, any other angle.
[[nodiscard]] Result<Display> display_of(std::span<std::int32_t const> matrix);

/// Of a whole picture. As in players, the width is stretched, never the height.
[[nodiscard]] FrameSize displayed_size(FrameSize stored, Display const& display);

/// Height and width that a stored picture must have to be `shown` after rotation.
[[nodiscard]] FrameSize unturned(FrameSize shown, Display const& display);

/// Rotates RGB of unturned(shown) into `out`, RGB of `shown`; both 3 bytes per pixel.
void turn_rgb(std::span<std::uint8_t const> stored, Display const& display, FrameSize shown,
              std::span<std::uint8_t> out);

}  // namespace osora::worker
