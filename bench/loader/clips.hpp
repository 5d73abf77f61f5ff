// Clips for loader benchmarks, made by the ffmpeg program.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <string>

namespace osora::bench {

struct ClipOptions {
    int width = 640;
    int height = 360;
    double seconds = 6.0;  // at 30 frames/s
    int count = 20;        // H.264, HEVC and MPEG-4 in mp4 and mkv in turn, and some pictures
    std::string codec;     // only this one: h264, hevc, mpeg4; empty: all
};

/// Writes the clips and clips.csv (paths only) into `folder`; returns the manifest's path.
[[nodiscard]] Result<std::filesystem::path> make_clips(std::filesystem::path const& folder,
                                                       ClipOptions const& options);

}  // namespace osora::bench
