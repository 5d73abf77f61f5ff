// What encode and decode of the video autoencoder hold at their peak, and what their layers keep
// for backward, from sizes alone. Pure; the planner's input for micro_batch_size and the like.
//
// Without gradients one chunk holds, at its worst layer, the residual, the input and the output of
// one convolution, and the larger of these two again: the copy in the library's own layout
// (oneDNN).
//
//   2-D block of width a -> b on P pixels (frames x height x width):  P (a + b + 2 max(a, b))
//   its half / double side of width c, P the pixels of the larger side:       9/4 P c / 3 P c
//   attention of width c (input, norm, tokens, q, k, v, result):              7 P c
//   temporal block a -> b, m = max(a, b), P = clips x T x h x w and Q with the two frames of zeros
//   in front of them:                                                         P (a + m) + 2 Q m
//
// The peak of a call is the worst layer of its largest chunk, and what it gives back for the whole
// clip. The weights and the caller's input are not in it.
#pragma once

#include "plan/vae/vae_sizes.hpp"

#include <cstdint>

namespace osora::plan {

/// Sizes of one call in the units of its input: pixels for the 2-D VAE and the pipeline, latents of
/// the 2-D VAE for the temporal one.
struct VaeClip {
    std::int64_t clips = 1;
    std::int64_t frames = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
};

/// In values (times the bytes of a value: memory), for a whole clip.
struct LayerMemory {
    std::int64_t worst = 0;  // what the worst layer holds
    std::int64_t kept = 0;   // by all layers, for backward; the caller owns the input
};
[[nodiscard]] LayerMemory spatial_encode_memory(SpatialVaeConfig const& config,
                                                VaeClip const& clip);
[[nodiscard]] LayerMemory spatial_decode_memory(SpatialVaeConfig const& config,
                                                VaeClip const& clip);
[[nodiscard]] LayerMemory temporal_encode_memory(TemporalVaeConfig const& config,
                                                 VaeClip const& clip);
[[nodiscard]] LayerMemory temporal_decode_memory(TemporalVaeConfig const& config,
                                                 VaeClip const& clip);

/// The whole call, in chunks and tiles as configured; `clip` in pixels for both directions.
[[nodiscard]] std::int64_t encode_peak(VaePipelineConfig const& config, VaeClip const& clip);
[[nodiscard]] std::int64_t decode_peak(VaePipelineConfig const& config, VaeClip const& clip);

}  // namespace osora::plan
