// One picture with frames of a clip side by side, for people. Pure.
#pragma once

#include "worker/data/frames/rgb_frames.hpp"

#include <vector>

namespace osora::worker {

/// Indices of at most `most` of a clip's frames, evenly spread, the first and the last among them.
[[nodiscard]] std::vector<int> spread_frames(int frames, int most);

struct ContactSheetOptions {
    int frames_max = 16;    // evenly spread over the clip, the first and the last among them
    int side_min_px = 128;  // smaller frames are enlarged by a whole number
    int gap_px = 4;
};

/// A grid about as wide as high, in reading order; one frame of RGB. Needs at least one frame.
[[nodiscard]] RgbFrames contact_sheet(RgbFrames const& clip,
                                      ContactSheetOptions const& options = {});

}  // namespace osora::worker
