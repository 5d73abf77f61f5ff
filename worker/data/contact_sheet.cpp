#include "worker/data/contact_sheet.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace osora::worker {
namespace {

constexpr std::uint8_t kGap = 32;  // dark grey

/// Copies a frame into `sheet` at (top, left), each pixel as a square of `factor`.
void paste(RgbFrames const& clip, int frame, int factor, std::uint8_t* corner, int sheet_width) {
    auto const from = clip.frame(frame);
    for (int y = 0; y < clip.height * factor; ++y) {
        auto const* row = from.data() + static_cast<std::size_t>(y / factor) * clip.width * 3;
        auto* into = corner + static_cast<std::size_t>(y) * sheet_width * 3;
        for (int x = 0; x < clip.width * factor; ++x) {
            std::memcpy(into + static_cast<std::size_t>(x) * 3,
                        row + static_cast<std::size_t>(x / factor) * 3, 3);
        }
    }
}

}  // namespace

std::vector<int> spread_frames(int frames, int most) {
    int const shown = std::min(frames, most);
    std::vector<int> indices;
    for (int place = 0; place < shown; ++place) {
        double const at = shown == 1 ? 0 : static_cast<double>(place) * (frames - 1) / (shown - 1);
        indices.push_back(static_cast<int>(std::lround(at)));
    }
    return indices;
}

RgbFrames contact_sheet(RgbFrames const& clip, ContactSheetOptions const& options) {
    OSORA_CHECK(clip.frames > 0 && clip.height > 0 && clip.width > 0);
    auto const frames = spread_frames(clip.frames, options.frames_max);
    auto const shown = static_cast<int>(frames.size());
    int const smaller = std::min(clip.height, clip.width);
    int const factor = std::max(1, (options.side_min_px + smaller - 1) / smaller);
    int const cell_height = clip.height * factor, cell_width = clip.width * factor;
    double const ratio = static_cast<double>(cell_height) / cell_width;
    int const columns =
        std::clamp(static_cast<int>(std::lround(std::sqrt(shown * ratio))), 1, shown);
    int const rows = (shown + columns - 1) / columns;
    RgbFrames sheet;
    sheet.frames = 1;
    sheet.height = rows * (cell_height + options.gap_px) + options.gap_px;
    sheet.width = columns * (cell_width + options.gap_px) + options.gap_px;
    sheet.pixels.assign(sheet.frame_bytes(), kGap);
    for (int place = 0; place < shown; ++place) {
        int const top = options.gap_px + place / columns * (cell_height + options.gap_px);
        int const left = options.gap_px + place % columns * (cell_width + options.gap_px);
        auto* corner =
            sheet.pixels.data() + (static_cast<std::size_t>(top) * sheet.width + left) * 3;
        paste(clip, frames[static_cast<std::size_t>(place)], factor, corner, sheet.width);
    }
    return sheet;
}

}  // namespace osora::worker
