// Component "vae_spatial": the 2-D VAE (AutoencoderKL of diffusers 0.29.2) alone.
#pragma once

#include "worker/cases/case_file.hpp"

namespace osora::worker {

/// Inputs of each variant: x (N, in_channels, H, W), eps (shape of z; absent: z is the mean).
/// Outputs: moments, mean, logvar, z, kl (N), decoded. With train_step also loss_weight (shape of
/// decoded): loss = sum(decoded * loss_weight), its gradients.
[[nodiscard]] CaseResult run_vae_spatial(CaseFile const& file);

}  // namespace osora::worker
