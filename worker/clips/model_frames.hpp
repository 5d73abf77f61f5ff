// Which frames of a clip a score by a TorchScript file looks at, and how large: those of
// Open-Sora 1.2's tools/scoring. Pure.
#pragma once

#include "worker/clips/clip_model.hpp"
#include "worker/data/frames/decoder.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace osora::worker {

/// `height` x `width` of landscape and square clips; portrait clips are decoded with the two
/// exchanged, and, if `transposed`, mirrored at the diagonal to the same size.
struct ModelPicture {
    ModelInput input = ModelInput::frames;
    int frames = 0, height = 0, width = 0;
    bool transposed = false;
};

/// aesthetic: 3 frames, 224 x 224 (CLIP ViT-L/14); flow: 4 frames, 320 x 576 (UniMatch).
[[nodiscard]] ModelPicture picture_of(std::string_view score);

/// Frames in ascending order; a short clip repeats some. aesthetic: [0.1 n], [0.5 n], [0.9 n] of n;
/// flow: 0, 10, 20, 30, at most the last.
[[nodiscard]] std::vector<std::int64_t> frames_of(std::string_view score, int num_frames);

/// (frames, height, width, 3) to (frames, width, height, 3).
[[nodiscard]] RgbFrames transposed(RgbFrames const& clip);

}  // namespace osora::worker
