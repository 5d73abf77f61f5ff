// What encode and decode of the video autoencoder hold at their peak, from sizes alone. Pure; the
// planner's input for micro_batch_size, micro_frame_size and tiles.
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

/// Sizes of one call in the units of its own input: pixels for the 2-D VAE and the pipeline,
/// latents of the 2-D VAE for the temporal one.
struct VaeClip {
    std::int64_t clips = 1;
    std::int64_t frames = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
};

/// The worst layer for all of `clip` at once, in numbers (times the bytes of a number: memory).
[[nodiscard]] std::int64_t spatial_encode_peak(SpatialVaeConfig const& config, VaeClip const& clip);
[[nodiscard]] std::int64_t spatial_decode_peak(SpatialVaeConfig const& config, VaeClip const& clip);
[[nodiscard]] std::int64_t temporal_encode_peak(TemporalVaeConfig const& config,
                                                VaeClip const& clip);
[[nodiscard]] std::int64_t temporal_decode_peak(TemporalVaeConfig const& config,
                                                VaeClip const& clip);

/// The whole call, in chunks and tiles as configured; `clip` in pixels for both directions.
[[nodiscard]] std::int64_t encode_peak(VaePipelineConfig const& config, VaeClip const& clip);
[[nodiscard]] std::int64_t decode_peak(VaePipelineConfig const& config, VaeClip const& clip);

}  // namespace osora::plan
