// Which frames become which latents when the temporal VAE processes micro_frame_size frames at a
// time (Open-Sora v1.2, vae.py get_latent_size, encode and decode). Pure.
//
// Each chunk is padded at its start to a multiple of the time factor and divided again separately,
// so a clip of 22 frames has ceil(17 / 4) + ceil(5 / 4) = 7 latent frames, not ceil(22 / 4).
#pragma once

#include <cstdint>
#include <vector>

namespace osora::plan {

struct FrameChunk {
    std::int64_t start = 0;  // [start, start + frames)
    std::int64_t frames = 0;
    std::int64_t latent_start = 0;  // [latent_start, latent_start + latents)
    std::int64_t latents = 0;
    friend bool operator==(FrameChunk const&, FrameChunk const&) = default;
};

/// `frames` must be >= 1; micro_frame_size 0: one chunk; `factor`: frames per latent.
[[nodiscard]] std::vector<FrameChunk> frame_chunks(std::int64_t frames,
                                                   std::int64_t micro_frame_size,
                                                   std::int64_t factor);

/// Latent frames of all chunks.
[[nodiscard]] std::int64_t latent_frames(std::int64_t frames, std::int64_t micro_frame_size,
                                         std::int64_t factor);

/// Number of zero frames before `frames` so that `factor` divides the total.
[[nodiscard]] std::int64_t front_padding(std::int64_t frames, std::int64_t factor);

}  // namespace osora::plan
