// The diagonal Gaussian that an encoder outputs (diffusers and Open-Sora:
// DiagonalGaussianDistribution).
#pragma once

#include <ATen/core/Tensor.h>

namespace osora::worker {

struct Gaussian {
    at::Tensor mean;    // (N, C, ...)
    at::Tensor logvar;  // in [-30, 20]
};

/// Halves of `moments` (N, 2 C, ...).
[[nodiscard]] Gaussian gaussian_of(at::Tensor const& moments);

/// mean + exp(logvar / 2) eps in the type of the mean; the mean where `eps` is undefined.
[[nodiscard]] at::Tensor sample(Gaussian const& gaussian, at::Tensor const& eps);

/// Divergence from N(0, 1), summed over all dimensions but the first: (N).
[[nodiscard]] at::Tensor kl_divergence(Gaussian const& gaussian);

}  // namespace osora::worker
