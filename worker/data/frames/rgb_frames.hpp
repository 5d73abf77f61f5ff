// Pictures in memory: the output of sampling and the input of writers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace osora::worker {

struct RgbFrames {
    std::vector<std::uint8_t> pixels;  // (frames, height, width, 3)
    int frames = 0, height = 0, width = 0;

    [[nodiscard]] std::size_t frame_bytes() const {
        return static_cast<std::size_t>(height) * static_cast<std::size_t>(width) * 3;
    }
    [[nodiscard]] std::span<std::uint8_t const> frame(int index) const {
        return std::span(pixels).subspan(static_cast<std::size_t>(index) * frame_bytes(),
                                         frame_bytes());
    }
};

}  // namespace osora::worker
