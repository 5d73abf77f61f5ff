#include "plan/vae/vae_chunks.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace osora::plan {

std::int64_t front_padding(std::int64_t frames, std::int64_t factor) {
    return (factor - frames % factor) % factor;
}

std::vector<FrameChunk> frame_chunks(std::int64_t frames, std::int64_t micro_frame_size,
                                     std::int64_t factor) {
    OSORA_CHECK_LE(1, frames);
    std::int64_t const most = micro_frame_size > 0 ? micro_frame_size : frames;
    std::vector<FrameChunk> chunks;
    std::int64_t latent = 0;
    for (std::int64_t start = 0; start < frames; start += most) {
        std::int64_t const count = std::min(most, frames - start);
        std::int64_t const latents = (count + front_padding(count, factor)) / factor;
        chunks.push_back({start, count, latent, latents});
        latent += latents;
    }
    return chunks;
}

std::int64_t latent_frames(std::int64_t frames, std::int64_t micro_frame_size,
                           std::int64_t factor) {
    auto const last = frame_chunks(frames, micro_frame_size, factor).back();
    return last.latent_start + last.latents;
}

}  // namespace osora::plan
