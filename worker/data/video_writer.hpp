// Writes clips and pictures that players and browsers show, through FFmpeg. A file appears complete
// or not at all.
#pragma once

#include "base/result.hpp"
#include "worker/data/frames/rgb_frames.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace osora::worker {

struct WrittenVideo {
    std::string codec;  // "libx264", or "mpeg4" if FFmpeg lacks it
    std::int64_t bytes = 0;
};

/// An MP4 of 4:2:0 pictures, BT.601; an odd side repeats its last row or column. Errors: io and
/// out_of_space with the path; invalid_input for a size or rate that no encoder accepts.
[[nodiscard]] Result<WrittenVideo> write_mp4(std::filesystem::path const& path,
                                             RgbFrames const& clip, double fps);

/// The first frame as a PNG.
[[nodiscard]] Result<void> write_png(std::filesystem::path const& path, RgbFrames const& picture);

}  // namespace osora::worker
