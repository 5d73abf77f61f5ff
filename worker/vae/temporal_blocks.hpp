// Encoder and decoder of the temporal VAE, with the names and numbers of Open-Sora v1.2
// (opensora/models/vae/vae_temporal.py). Private to worker/vae.
#pragma once

#include "worker/vae/vae_config.hpp"
#include "worker/vae/vae_layers.hpp"

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace osora::worker {

struct ResBlock3d {
    ResBlock3d(Scope const& scope, std::int64_t in, std::int64_t out, std::int64_t groups);
    [[nodiscard]] at::Tensor operator()(at::Tensor x) const;

    GroupNorm norm1;
    CausalConv3d conv1;
    GroupNorm norm2;
    CausalConv3d conv2;
    std::optional<CausalConv3d> conv3;  // where the width changes
};

using ResBlocks3d = std::vector<ResBlock3d>;

/// (B, in_out_channels, T, H, W) -> (B, 2 latent_embed_dim, T / factor, H, W)
struct TemporalEncoder {
    TemporalEncoder(Scope const& scope, TemporalVaeConfig const& config);
    [[nodiscard]] at::Tensor operator()(at::Tensor x) const;

    struct Level {
        ResBlocks3d blocks;
        std::optional<CausalConv3d> halve_time;
    };
    CausalConv3d conv_in;
    std::vector<Level> levels;
    ResBlocks3d res_blocks;
    GroupNorm norm1;
    CausalConv3d conv2;
};

/// (B, latent_embed_dim, T, H, W) -> (B, in_out_channels, T factor, H, W)
struct TemporalDecoder {
    TemporalDecoder(Scope const& scope, TemporalVaeConfig const& config);
    [[nodiscard]] at::Tensor operator()(at::Tensor z) const;

    struct Level {
        ResBlocks3d blocks;
        std::optional<CausalConv3d> double_time;  // to twice the width, then depth to time
    };
    CausalConv3d conv1;
    ResBlocks3d res_blocks;
    std::vector<Level> levels;  // as they are passed: the last of the state dict first
    GroupNorm norm1;
    CausalConv3d conv_out;
};

}  // namespace osora::worker
