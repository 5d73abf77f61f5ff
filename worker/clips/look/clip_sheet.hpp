// A picture with a row of frames for each clip, for people. Pure. Frames that are too wide are
// reduced by a whole number; they are never enlarged.
#pragma once

#include "worker/data/frames/decoder.hpp"
#include "worker/data/frames/rgb_frames.hpp"

#include <utility>
#include <vector>

namespace osora::worker {

inline constexpr int kSheetFramesMax = 8, kSheetGap_px = 4;
/// A row without a picture of known size.
inline constexpr FrameSize kGreySize{.height = 48, .width = 64};

/// By this number the sides of `shown` frames are divided, so that they fit side by side.
[[nodiscard]] int sheet_factor(FrameSize size, int shown, int width_max);

/// What a sample of `frames` frames of `size` takes in the sheet; grey.
[[nodiscard]] RgbFrames grey_row(FrameSize size, int frames, int width_max);

/// The same with the frames of a sample, spread over it. Each pixel is the mean of a square.
[[nodiscard]] RgbFrames sample_row(RgbFrames const& sample, int width_max);

class ClipSheet {
public:
    /// A row as one of the functions above makes it.
    void add(RgbFrames row) { rows_.push_back(std::move(row)); }
    /// One frame of RGB with all rows, the first one at the top.
    [[nodiscard]] RgbFrames picture() const;

    /// Pixels that a row takes, with the gap below it.
    [[nodiscard]] static int row_height(FrameSize size, int shown, int width_max) {
        return size.height / sheet_factor(size, shown, width_max) + kSheetGap_px;
    }

private:
    std::vector<RgbFrames> rows_;
};

}  // namespace osora::worker
