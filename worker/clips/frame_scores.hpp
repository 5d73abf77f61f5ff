// Scores of frames that need no model. Pure. Luma is (299 R + 587 G + 114 B) / 1000, rounded, of
// full-range RGB (ITU-R BT.601).
#pragma once

#include "worker/data/frames/rgb_frames.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace osora::worker {

/// (frames, height, width) uint8.
struct LumaFrames {
    std::vector<std::uint8_t> pixels;
    int frames = 0, height = 0, width = 0;

    [[nodiscard]] std::span<std::uint8_t const> frame(int index) const {
        auto const bytes = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
        return std::span(pixels).subspan(static_cast<std::size_t>(index) * bytes, bytes);
    }
};
[[nodiscard]] LumaFrames luma_of(RgbFrames const& clip);

/// Mean absolute difference of luma between neighbouring frames, of 255; needs two frames.
[[nodiscard]] double motion_score(LumaFrames const& clip);

/// Variance of the Laplacian (4 neighbours, inner pixels), mean over the frames; the lower, the
/// more blurred. J. L. Pech-Pacheco et al., "Diatom autofocusing in brightfield microscopy: a
/// comparative study", ICPR 2000. Frames of at least 3 x 3 pixels.
[[nodiscard]] double blur_score(LumaFrames const& clip);

/// Mean luma, of 255.
[[nodiscard]] double brightness_score(LumaFrames const& clip);

/// Share of the frames in which at least 98 % of the pixels have a luma below 32, the defaults of
/// FFmpeg's filter blackframe.
[[nodiscard]] double black_share(LumaFrames const& clip);

/// Hard cuts of consecutive frames by the difference of their colour histograms (H. Zhang,
/// A. Kankanhalli, S. W. Smoliar, "Automatic partitioning of full-motion video", Multimedia Systems
/// 1, 1993): 8 x 8 x 8 bins of RGB, half the sum of absolute differences, of the pixels.
class CutFinder {
public:
    static constexpr double kDistanceMin = 0.5;

    /// The next frame, (height, width, 3).
    void add(std::span<std::uint8_t const> rgb);
    /// First frames after a cut, counted from 0.
    [[nodiscard]] std::vector<std::int64_t> const& cuts() const { return cuts_; }

private:
    using Histogram = std::array<std::uint32_t, 512>;
    Histogram last_{};
    std::int64_t frames_ = 0;
    std::vector<std::int64_t> cuts_;
};

}  // namespace osora::worker
