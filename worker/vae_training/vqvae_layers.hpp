// Layers of VideoGPT's VQ-VAE (videogpt/vqvae.py and attention.py), by name and number. Private to
// worker/vae_training.
#pragma once

#include "worker/vae/vae_layers.hpp"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace osora::worker {

using Sides = std::array<std::int64_t, 3>;  // (T, H, W)

/// Means and variances of the batches that the norms of a network have seen since the last update;
/// null in a call whose batch is not to be counted.
struct NormLog {
    std::vector<at::Tensor> means, variances;  // (channels), in the order of the norms
};

/// BatchNorm3d, then ReLU. Its running averages are updated once per step, by the mean over the
/// step's micro-batches on all ranks, so that they depend on neither.
struct BatchNormRelu {
    BatchNormRelu(Scope const& scope, std::int64_t channels);
    /// `training`: by the statistics of x, which are added to `log`; else by the running ones.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, bool training, NormLog* log) const;
    /// momentum 0.1
    void move(at::Tensor const& mean, at::Tensor const& variance) const;

    at::Tensor weight, bias, running_mean, running_var, num_batches_tracked;
};

/// Convolution whose output has the input's sides over the stride; zeros around, more in front.
struct SamePadConv3d {
    SamePadConv3d(Scope const& scope, Sides const& channels_kernel, Sides const& stride,
                  bool with_bias = true);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x) const;

    at::Tensor weight, bias;
    Sides stride;
    std::vector<std::int64_t> padding;  // as constant_pad_nd takes it
};

/// Its transpose: sides times the stride.
struct SamePadConvTranspose3d {
    SamePadConvTranspose3d(Scope const& scope, std::int64_t in, std::int64_t out,
                           Sides const& stride);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x) const;

    at::Tensor weight, bias;
    Sides stride;
    std::vector<std::int64_t> padding;
};

/// Attention of each position to those that differ from it along one axis only; two heads.
struct AxisAttention {
    AxisAttention(Scope const& scope, std::int64_t channels, std::int64_t axis);
    /// x (B, T, H, W, C); axis 1, 2 or 3
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x) const;

    at::Tensor w_qs, w_ks, w_vs, fc, fc_bias;
    std::int64_t axis;
};

/// x + axial attention of three norms and two convolutions.
struct AttentionResidualBlock {
    AttentionResidualBlock(Scope const& scope, std::int64_t channels);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, bool training, NormLog* log) const;

    BatchNormRelu norm1;
    SamePadConv3d conv1;
    BatchNormRelu norm2;
    SamePadConv3d conv2;
    BatchNormRelu norm3;
    AxisAttention along_w, along_h, along_t;
};

/// Blocks, then a norm.
struct ResidualStack {
    ResidualStack(Scope const& scope, std::int64_t channels, std::int64_t blocks);
    [[nodiscard]] at::Tensor operator()(at::Tensor x, bool training, NormLog* log) const;
    /// In the order in which a call logs them.
    [[nodiscard]] std::vector<BatchNormRelu const*> norms() const;

    std::vector<AttentionResidualBlock> blocks;
    BatchNormRelu norm;
};

}  // namespace osora::worker
