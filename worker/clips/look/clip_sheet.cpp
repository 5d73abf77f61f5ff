#include "worker/clips/look/clip_sheet.hpp"

#include "base/check.hpp"
#include "worker/data/contact_sheet.hpp"

#include <algorithm>
#include <cstring>

namespace osora::worker {
namespace {

constexpr std::uint8_t kSheetGrey = 32, kNoPixelsGrey = 96;

/// Frame `from` of `sample`, each side divided by `factor`, into `out`.
void reduce(RgbFrames const& sample, int from, int factor, RgbFrames& row, int into) {
    auto const frame = sample.frame(from);
    auto* out = row.pixels.data() + static_cast<std::size_t>(into) * row.frame_bytes();
    int const area = factor * factor;
    for (int y = 0; y < row.height; ++y) {
        for (int x = 0; x < row.width; ++x) {
            int sums[3] = {0, 0, 0};
            for (int dy = 0; dy < factor; ++dy) {
                auto const at = (static_cast<std::size_t>(y * factor + dy) * sample.width +
                                 static_cast<std::size_t>(x) * factor) *
                                3;
                for (int i = 0; i < 3 * factor; ++i) sums[i % 3] += frame[at + i];
            }
            for (int const sum : sums) *out++ = static_cast<std::uint8_t>((sum + area / 2) / area);
        }
    }
}

}  // namespace

int sheet_factor(FrameSize size, int shown, int width_max) {
    int const most = std::min(size.height, size.width);  // a pixel must be left
    int factor = 1;
    while (factor < most && shown * (size.width / factor + kSheetGap_px) + kSheetGap_px > width_max)
        ++factor;
    return factor;
}

RgbFrames grey_row(FrameSize size, int frames, int width_max) {
    RgbFrames row;
    row.frames = std::min(frames, kSheetFramesMax);
    int const factor = sheet_factor(size, row.frames, width_max);
    row.height = size.height / factor;
    row.width = size.width / factor;
    row.pixels.assign(static_cast<std::size_t>(row.frames) * row.frame_bytes(), kNoPixelsGrey);
    return row;
}

RgbFrames sample_row(RgbFrames const& sample, int width_max) {
    OSORA_CHECK(sample.frames > 0 && sample.height > 0 && sample.width > 0);
    FrameSize const size{.height = sample.height, .width = sample.width};
    RgbFrames row = grey_row(size, sample.frames, width_max);
    auto const indices = spread_frames(sample.frames, kSheetFramesMax);
    OSORA_CHECK_EQ(static_cast<int>(indices.size()), row.frames);
    int const factor = sheet_factor(size, row.frames, width_max);
    for (int place = 0; place < row.frames; ++place)
        reduce(sample, indices[static_cast<std::size_t>(place)], factor, row, place);
    return row;
}

RgbFrames ClipSheet::picture() const {
    RgbFrames sheet;
    sheet.frames = 1;
    sheet.height = sheet.width = kSheetGap_px;
    for (RgbFrames const& row : rows_) {
        sheet.height += row.height + kSheetGap_px;
        sheet.width = std::max(sheet.width, row.frames * (row.width + kSheetGap_px) + kSheetGap_px);
    }
    sheet.pixels.assign(sheet.frame_bytes(), kSheetGrey);
    int top = kSheetGap_px;
    for (RgbFrames const& row : rows_) {
        std::size_t const row_bytes = static_cast<std::size_t>(row.width) * 3;
        for (int i = 0; i < row.frames * row.height; ++i) {
            int const place = i / row.height, y = top + i % row.height;
            int const left = kSheetGap_px + place * (row.width + kSheetGap_px);
            std::memcpy(
                sheet.pixels.data() + (static_cast<std::size_t>(y) * sheet.width + left) * 3,
                row.pixels.data() + static_cast<std::size_t>(i) * row_bytes, row_bytes);
        }
        top += row.height + kSheetGap_px;
    }
    return sheet;
}

}  // namespace osora::worker
