#include "worker/clips/frame_scores.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cstdlib>

namespace osora::worker {

LumaFrames luma_of(RgbFrames const& clip) {
    LumaFrames luma{
        .pixels = {}, .frames = clip.frames, .height = clip.height, .width = clip.width};
    luma.pixels.reserve(clip.pixels.size() / 3);
    for (std::size_t i = 0; i + 2 < clip.pixels.size(); i += 3) {
        int const sum = 299 * clip.pixels[i] + 587 * clip.pixels[i + 1] + 114 * clip.pixels[i + 2];
        luma.pixels.push_back(static_cast<std::uint8_t>((sum + 500) / 1000));
    }
    return luma;
}

double motion_score(LumaFrames const& clip) {
    OSORA_CHECK_LE(2, clip.frames);
    std::int64_t sum = 0, pixels = 0;
    for (int i = 1; i < clip.frames; ++i) {
        auto const before = clip.frame(i - 1), after = clip.frame(i);
        for (std::size_t at = 0; at < after.size(); ++at) sum += std::abs(after[at] - before[at]);
        pixels += static_cast<std::int64_t>(after.size());
    }
    return static_cast<double>(sum) / static_cast<double>(pixels) / 255;
}

double blur_score(LumaFrames const& clip) {
    OSORA_CHECK(clip.frames >= 1 && clip.height >= 3 && clip.width >= 3);
    double total = 0;
    for (int i = 0; i < clip.frames; ++i) {
        auto const* const luma = clip.frame(i).data();
        std::int64_t sum = 0, squares = 0;
        for (int y = 1; y + 1 < clip.height; ++y) {
            for (int x = 1; x + 1 < clip.width; ++x) {
                auto const* const at = luma + static_cast<std::ptrdiff_t>(y) * clip.width + x;
                std::int64_t const value =
                    at[-clip.width] + at[clip.width] + at[-1] + at[1] - 4 * at[0];
                sum += value;
                squares += value * value;
            }
        }
        auto const pixels = static_cast<double>(clip.height - 2) * (clip.width - 2);
        double const mean = static_cast<double>(sum) / pixels;
        total += static_cast<double>(squares) / pixels - mean * mean;
    }
    return total / clip.frames;
}

double brightness_score(LumaFrames const& clip) {
    OSORA_CHECK(!clip.pixels.empty());
    std::int64_t sum = 0;
    for (std::uint8_t const value : clip.pixels) sum += value;
    return static_cast<double>(sum) / static_cast<double>(clip.pixels.size()) / 255;
}

double black_share(LumaFrames const& clip) {
    OSORA_CHECK_LE(1, clip.frames);
    constexpr int kDark = 32, kPercent = 98;
    int black = 0;
    for (int i = 0; i < clip.frames; ++i) {
        auto const frame = clip.frame(i);
        auto const dark = std::ranges::count_if(frame, [](int luma) { return luma < kDark; });
        if (100 * dark >= kPercent * static_cast<std::int64_t>(frame.size())) ++black;
    }
    return static_cast<double>(black) / clip.frames;
}

void CutFinder::add(std::span<std::uint8_t const> rgb) {
    Histogram histogram{};
    for (std::size_t i = 0; i + 2 < rgb.size(); i += 3)
        ++histogram[rgb[i] / 32 * 64u + rgb[i + 1] / 32 * 8u + rgb[i + 2] / 32];
    if (frames_ > 0) {
        std::int64_t apart = 0;
        for (std::size_t bin = 0; bin < histogram.size(); ++bin)
            apart += std::abs(std::int64_t{histogram[bin]} - std::int64_t{last_[bin]});
        auto const pixels = static_cast<double>(rgb.size() / 3);
        if (static_cast<double>(apart) / 2 > kDistanceMin * pixels) cuts_.push_back(frames_);
    }
    last_ = histogram;
    ++frames_;
}

}  // namespace osora::worker
