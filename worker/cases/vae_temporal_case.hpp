// Component "vae_temporal": the temporal VAE of Open-Sora v1.2 alone.
#pragma once

#include "worker/cases/case_file.hpp"

namespace osora::worker {

/// Inputs of each variant: x (B, in_out_channels, T, H, W), eps (shape of z; absent: z is the
/// mean). Outputs: moments, mean, logvar, z, kl (B), decoded = decode(z, T). With train_step also
/// loss_weight (shape of decoded): loss = sum(decoded * loss_weight), its gradients.
[[nodiscard]] CaseResult run_vae_temporal(CaseFile const& file);

}  // namespace osora::worker
