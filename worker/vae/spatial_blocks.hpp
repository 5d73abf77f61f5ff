// Encoder and decoder of the 2-D VAE, with the names and numbers of diffusers 0.29.2
// (models/autoencoders/vae.py). Private to worker/vae.
#pragma once

#include "worker/vae/vae_config.hpp"
#include "worker/vae/vae_layers.hpp"

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace osora::worker {

/// ResnetBlock2D without a time embedding.
struct ResnetBlock2d {
    ResnetBlock2d(Scope const& scope, std::int64_t in, std::int64_t out, std::int64_t groups);
    [[nodiscard]] at::Tensor operator()(at::Tensor x) const;

    GroupNorm norm1;
    Conv2d conv1;
    GroupNorm norm2;
    Conv2d conv2;
    std::optional<Conv2d> conv_shortcut;  // where the width changes
};

/// Attention of one head over the pixels of a frame, with its residual.
struct PixelAttention {
    PixelAttention(Scope const& scope, std::int64_t channels, std::int64_t groups);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x) const;

    struct Projection {
        Projection(Scope const& scope, std::int64_t channels);
        at::Tensor weight, bias;
    };
    GroupNorm group_norm;
    Projection to_q, to_k, to_v, to_out;
};

struct MidBlock {
    MidBlock(Scope const& scope, std::int64_t channels, std::int64_t groups);
    [[nodiscard]] at::Tensor operator()(at::Tensor x) const;

    ResnetBlock2d first;
    PixelAttention attention;
    ResnetBlock2d second;
};

/// One down or up block: ResNet blocks, then half or twice the side.
struct SpatialLevel {
    std::vector<ResnetBlock2d> resnets;
    std::optional<Conv2d> resize;
};

struct SpatialEncoder {
    SpatialEncoder(Scope const& scope, SpatialVaeConfig const& config);
    /// (N, in_channels, H, W) -> (N, 2 latent_channels, h, w)
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x) const;

    Conv2d conv_in;
    std::vector<SpatialLevel> down;
    MidBlock mid;
    GroupNorm norm_out;
    Conv2d conv_out;
};

struct SpatialDecoder {
    SpatialDecoder(Scope const& scope, SpatialVaeConfig const& config);
    /// (N, latent_channels, h, w) -> (N, out_channels, h factor, w factor)
    [[nodiscard]] at::Tensor operator()(at::Tensor const& z) const;

    Conv2d conv_in;
    MidBlock mid;
    std::vector<SpatialLevel> up;
    GroupNorm norm_out;
    Conv2d conv_out;
};

}  // namespace osora::worker
