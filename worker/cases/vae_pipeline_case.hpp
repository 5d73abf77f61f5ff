// Component "vae_pipeline": 2-D VAE, temporal VAE, shift and scale of Open-Sora v1.2.
#pragma once

#include "worker/cases/case_file.hpp"

namespace osora::worker {

/// Inputs of each variant: x (B, in_channels, T, H, W); eps2d (B T, latent_channels, h, w) and
/// eps_temporal0, eps_temporal1, ... of the chunks, or no noise at all, which takes means. Outputs:
/// z, decoded = decode(z, T). With train_step also loss_weight (shape of decoded): loss =
/// sum(decoded * loss_weight), its gradients.
[[nodiscard]] CaseResult run_vae_pipeline(CaseFile const& file);

}  // namespace osora::worker
