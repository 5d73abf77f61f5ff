// The loss of training the video autoencoder (Open-Sora v1.2, opensora/models/vae/losses.py
// VAELoss): absolute error and perceptual distance under one learned-or-fixed log variance, and KL
// divergence. Pure functions; the caller weights and sums them.
#pragma once

#include "worker/vae/gaussian.hpp"

#include <ATen/core/Tensor.h>

namespace osora::worker {

struct VaeLossConfig {
    double perceptual_loss_weight = 0.1;
    double kl_loss_weight = 1e-6;
    double logvar = 0;  // of the reconstruction error
};

/// Sum over pixels and channels of |video - reconstruction| + perceptual_loss_weight lpips, over
/// exp(logvar), plus logvar; the mean of that over all frames: a scalar.
/// `video`, `reconstruction` (B, C, T, H, W); `lpips` (B T, 1, 1, 1) in the order of Lpips, or
/// undefined: none.
[[nodiscard]] at::Tensor reconstruction_loss(at::Tensor const& video,
                                             at::Tensor const& reconstruction,
                                             at::Tensor const& lpips, VaeLossConfig const& config);

/// kl_loss_weight times the mean divergence of a clip: a scalar.
[[nodiscard]] at::Tensor kl_loss(Gaussian const& posterior, VaeLossConfig const& config);

}  // namespace osora::worker
