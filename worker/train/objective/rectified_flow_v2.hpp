// Rectified flow as Open-Sora v2.0 trains MMDiT (opensora/utils/sampling.py, scripts/diffusion/
// train.py): latents packed to tokens, times in 0..1 shifted by the size, x_t, target and loss.
// Time 1 is noise, and the target is noise - sample: the opposite sign of v1.2.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace osora::worker {

/// Sizes of a latent in tokens are those divided by patch_size.
struct LatentSize {
    std::int64_t frames = 1, height = 0, width = 0;
};

/// (B, C, T, H, W) -> (B, T H/p W/p, C p p): patches frame by frame, row by row.
[[nodiscard]] at::Tensor pack_latent(at::Tensor const& latent, std::int64_t patch_size = 2);
/// The inverse.
[[nodiscard]] at::Tensor unpack_latent(at::Tensor const& tokens, LatentSize const& size,
                                       std::int64_t patch_size = 2);

/// (B, tokens, 3): frame, row, column of each packed patch, fp32.
[[nodiscard]] at::Tensor latent_ids(std::int64_t batch, LatentSize const& size,
                                    std::int64_t patch_size = 2);

/// How far times go towards noise: 1 at 256 patches of 2 x 2 an image, 3 at 4096, linear between
/// and beyond; times sqrt(frames).
[[nodiscard]] double shift_alpha(LatentSize const& size);

/// alpha t / (1 + (alpha - 1) t), elementwise on times in 0..1.
[[nodiscard]] at::Tensor time_shift(at::Tensor const& t, double alpha);

/// alpha s / (1 + (alpha - 1) s) with s = sigmoid(normal); (B) of N(0, 1) -> (B) in 0..1.
[[nodiscard]] at::Tensor shifted_times(at::Tensor const& normal, double alpha);

constexpr double kSigmaMin = 1e-5;  // of noise that stays in the sample at time 0

/// (1 - t) x_0 + (1 - (1 - sigma_min)(1 - t)) noise; x (B, tokens, C), t (B).
[[nodiscard]] at::Tensor noised_tokens(at::Tensor const& x_0, at::Tensor const& noise,
                                       at::Tensor const& t, double sigma_min = kSigmaMin);
/// (1 - sigma_min) noise - x_0.
[[nodiscard]] at::Tensor velocity_target(at::Tensor const& x_0, at::Tensor const& noise,
                                         double sigma_min = kSigmaMin);
/// Mean squared error over everything, in fp32; a scalar.
[[nodiscard]] at::Tensor velocity_loss(at::Tensor const& output, at::Tensor const& target);

}  // namespace osora::worker
