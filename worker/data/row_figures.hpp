// Figures that a row of a list lacks, from its file.
#pragma once

#include "worker/data/frames/decoder.hpp"
#include "worker/data/manifest.hpp"

namespace osora::worker {

/// What the row says stays.
inline void fill_figures(Clip& clip, ClipFacts const& facts) {
    if (clip.num_frames == 0) clip.num_frames = facts.num_frames;
    if (clip.height == 0) clip.height = facts.height;
    if (clip.width == 0) clip.width = facts.width;
    if (clip.fps == 0.0) clip.fps = facts.fps;
}

}  // namespace osora::worker
