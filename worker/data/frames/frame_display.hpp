// Private to worker/data: what streams and pictures of FFmpeg say of how they are shown.
#pragma once

#include "worker/data/frames/av_handles_internal.hpp"
#include "worker/data/frames/display.hpp"

namespace osora::worker {

/// What a container says of its pictures, before any is decoded.
[[nodiscard]] Result<Display> display_of(AVStream const& stream);

/// Puts what the container says on a decoded picture. As in the ffmpeg program, the container's
/// aspect ratio and the picture's own display matrix (EXIF, SEI) go first.
[[nodiscard]] Result<void> tag_display(AVStream const& stream, AVFrame& frame);

/// Of a picture as it stands.
[[nodiscard]] Result<Display> display_of(AVFrame const& frame);

/// A sample aspect ratio; one that says nothing leaves it alone.
void set_pixel(Display& display, AVRational ratio);

/// Of a whole picture, not yet cropped.
[[nodiscard]] Result<PictureSizes> sizes_of(AVFrame const& frame);

}  // namespace osora::worker
