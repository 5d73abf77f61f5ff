// Random numbers that belong to a sample: they depend only on (seed, epoch, sample id, purpose), so
// rank, world size, batch and resume do not change them. Pure; no LibTorch.
#pragma once

#include <cstdint>

namespace osora::worker {

/// The purpose of a stream; two purposes never share numbers.
enum class RngPurpose : std::uint64_t {
    timestep = 1,
    noise,
    caption_drop,
    frame_mask,
    crop,
    posterior,
    vae_frames,   // of the 2-D latents of a frame
    vae_latents,  // of the final latents
    seen_frames,  // how many frames of a clip a step sees; the "sample" is the step
    codebook      // which vectors codes start from; likewise
};

/// One 64-bit key for a sample and a purpose (SplitMix64 finaliser over each word in turn).
[[nodiscard]] std::uint64_t sample_key(std::uint64_t seed, std::uint64_t epoch,
                                       std::uint64_t sample_id, RngPurpose purpose);

/// SplitMix64 (Steele, Lea, Flood 2014) from a key.
class SampleRng {
public:
    explicit SampleRng(std::uint64_t key) : state_(key) {}
    [[nodiscard]] std::uint64_t next();
    [[nodiscard]] double uniform();                        // [0, 1), 53 bits
    [[nodiscard]] double normal();                         // N(0, 1), Box-Muller, two draws
    [[nodiscard]] std::uint64_t below(std::uint64_t end);  // [0, end), unbiased

private:
    std::uint64_t state_;
};

}  // namespace osora::worker
