// Clips and pictures as files that players and browsers show, through FFmpeg. A file is there whole
// or not at all.
#pragma once

#include "base/result.hpp"
#include "worker/data/frames/rgb_frames.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace osora::worker {

struct WrittenVideo {
    std::string codec;  // "libx264", or "mpeg4" where FFmpeg has none
    std::int64_t bytes = 0;
};

/// An MP4 of 4:2:0 pictures, BT.601; an odd side gets its last row or column twice. Errors: io and
/// out_of_space with the path; invalid_input for a size or rate that no encoder takes.
[[nodiscard]] Result<WrittenVideo> write_mp4(std::filesystem::path const& path,
                                             RgbFrames const& clip, double fps);

/// The first frame as a PNG.
[[nodiscard]] Result<void> write_png(std::filesystem::path const& path, RgbFrames const& picture);

}  // namespace osora::worker
