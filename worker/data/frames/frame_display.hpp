// Private to worker/data: how streams and pictures of FFmpeg are to be shown.
#pragma once

#include "worker/data/frames/av_handles_internal.hpp"
#include "worker/data/frames/display.hpp"

namespace osora::worker {

/// The container's information on its pictures, before any is decoded.
[[nodiscard]] Result<Display> display_of(AVStream const& stream);

/// Applies the container's information to a decoded picture. As in the ffmpeg program, the
/// container's aspect ratio and the picture's own display matrix (EXIF, SEI) take precedence.
[[nodiscard]] Result<void> tag_display(AVStream const& stream, AVFrame& frame);

/// Of a picture as it is.
[[nodiscard]] Result<Display> display_of(AVFrame const& frame);

/// A sample aspect ratio; ignores an invalid one.
void set_pixel(Display& display, AVRational ratio);

/// Of a whole picture, not yet cropped.
[[nodiscard]] Result<PictureSizes> sizes_of(AVFrame const& frame);

}  // namespace osora::worker
