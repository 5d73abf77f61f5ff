// The video autoencoder of Open-Sora v1.2 (VideoAutoencoderPipeline): frames -> 2-D VAE -> temporal
// VAE -> (z - shift) / scale and back, by name and number. Both parts take a chunk at a time, which
// bounds the memory (vae_memory.hpp). One thread drives it; wrong shapes are bugs.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/vae/spatial_vae.hpp"
#include "worker/vae/temporal_vae.hpp"
#include "worker/vae/vae_config.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace osora::worker {

/// Standard normal draws, given by the caller; where one is undefined, the mean is taken.
struct VaeNoise {
    at::Tensor spatial;   // (B T, latent_channels, h, w), frames of clip 0 first
    at::Tensor temporal;  // (B, embed_dim, latent_frames, h, w)
};

struct VaeEncoded {
    at::Tensor z;        // (B, embed_dim, latent_frames, h, w), normalised by shift and scale
    at::Tensor moments;  // (B, 2 embed_dim, latent_frames, h, w), before shift and scale
    at::Tensor x_z;      // (B, latent_channels, T, h, w): what the temporal VAE was given
};

struct VaeDecoded {
    at::Tensor x;    // (B, out_channels, T, H, W)
    at::Tensor x_z;  // (B, latent_channels, T, h, w)
};

class VaePipeline {
public:
    /// Uninitialised weights: call initialise() or parameters().load().
    explicit VaePipeline(VaePipelineConfig const& config, at::TensorOptions options = {});

    /// PyTorch's default initial values (what Open-Sora starts from), the same for a seed on every
    /// machine; shift and scale of the published model where it has as many channels, else 0 and 1.
    void initialise(std::uint64_t seed);

    /// x (B, in_channels, T, H, W) in [-1, 1]
    [[nodiscard]] VaeEncoded encode(at::Tensor const& x, VaeNoise const& noise = {}) const;
    /// z of a clip of `num_frames` frames, normalised.
    [[nodiscard]] VaeDecoded decode(at::Tensor const& z, std::int64_t num_frames) const;

    /// Latent frames of a clip.
    [[nodiscard]] std::int64_t latent_frames(std::int64_t num_frames) const;

    [[nodiscard]] SpatialVae const& spatial() const { return spatial_; }
    [[nodiscard]] TemporalVae const& temporal() const { return temporal_; }
    [[nodiscard]] Parameters& parameters() { return parameters_; }
    [[nodiscard]] Parameters const& parameters() const { return parameters_; }
    [[nodiscard]] VaePipelineConfig const& config() const { return config_; }

private:
    [[nodiscard]] at::Tensor encode_frames(at::Tensor const& x, at::Tensor const& eps) const;
    [[nodiscard]] at::Tensor decode_frames(at::Tensor const& x_z) const;

    VaePipelineConfig config_;
    Parameters parameters_;
    SpatialVae spatial_;
    TemporalVae temporal_;
    at::Tensor scale_, shift_;  // (1, embed_dim, 1, 1, 1)
};

/// Fills convolutions and linear layers as PyTorch does (weight and bias uniform within
/// 1 / sqrt(inputs of an output)) and norms with 1 and 0; each tensor has its own stream.
void initialise_vae(Parameters const& parameters, std::uint64_t seed);

}  // namespace osora::worker
