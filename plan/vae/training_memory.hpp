// What training an autoencoder holds beside its weights, from sizes alone. Pure; numbers, not
// bytes.
//
// At once: what all layers keep for backward. In pieces (frames of the 2-D part, chunks of the
// temporal one, chunks of a VQ-VAE) each piece is computed again in backward, so only the largest
// piece keeps something. The frames, their reconstruction and its gradient are whole in both.
#pragma once

#include "plan/config/sections/vae_loss_section.hpp"
#include "plan/config/sections/vqvae_section.hpp"
#include "plan/vae/vae_memory.hpp"

#include <cstdint>

namespace osora::plan {

/// Whether the pipeline processes `clip` in pieces at its micro sizes.
[[nodiscard]] bool in_pieces(VaePipelineConfig const& config, VaeClip const& clip);

/// Forward and backward of one micro-batch `clip` (in pixels).
[[nodiscard]] std::int64_t vae_training_peak(VaePipelineConfig const& config,
                                             VaeLossSection const& loss, VaeClip const& clip);

/// Likewise; micro_frame_size 0: not divided.
[[nodiscard]] std::int64_t vqvae_training_peak(VqvaeSection const& sizes,
                                               std::int64_t micro_frame_size, VaeClip const& clip);

/// Number of learned parameters.
[[nodiscard]] std::int64_t spatial_parameters(SpatialVaeConfig const& config);
[[nodiscard]] std::int64_t temporal_parameters(TemporalVaeConfig const& config);
[[nodiscard]] std::int64_t vqvae_parameters(VqvaeSection const& sizes);

}  // namespace osora::plan
