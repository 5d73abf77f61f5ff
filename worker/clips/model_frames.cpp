#include "worker/clips/model_frames.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace osora::worker {

ModelPicture picture_of(std::string_view score) {
    if (score == "flow") {
        return {.input = ModelInput::pairs,
                .frames = 4,
                .height = 320,
                .width = 576,
                .transposed = true};
    }
    return {.input = ModelInput::frames, .frames = 3, .height = 224, .width = 224};
}

std::vector<std::int64_t> frames_of(std::string_view score, int num_frames) {
    std::vector<std::int64_t> frames;
    if (score == "flow") {
        constexpr std::array kFlowFrames{0, 10, 20, 30};
        for (int const each : kFlowFrames) frames.push_back(std::min(each, num_frames - 1));
        return frames;
    }
    constexpr std::array kAestheticPoints{0.1, 0.5, 0.9};
    for (double const each : kAestheticPoints)
        frames.push_back(static_cast<std::int64_t>(each * num_frames));
    return frames;
}

RgbFrames transposed(RgbFrames const& clip) {
    constexpr std::size_t kBytes = 3;  // of a pixel
    RgbFrames made{.pixels = {}, .frames = clip.frames, .height = clip.width, .width = clip.height};
    made.pixels.resize(clip.pixels.size());
    auto const height = static_cast<std::size_t>(clip.height);
    auto const width = static_cast<std::size_t>(clip.width);
    for (int frame = 0; frame < clip.frames; ++frame) {
        auto const* const from = clip.frame(frame).data();
        auto* const to = made.pixels.data() + static_cast<std::size_t>(frame) * clip.frame_bytes();
        for (std::size_t y = 0; y < height; ++y) {
            for (std::size_t x = 0; x < width; ++x)
                std::memcpy(to + (x * height + y) * kBytes, from + (y * width + x) * kBytes,
                            kBytes);
        }
    }
    return made;
}

}  // namespace osora::worker
