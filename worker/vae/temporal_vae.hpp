// The temporal autoencoder of Open-Sora v1.2 (VAE_Temporal) over the latents of the 2-D one: causal
// in time, one latent for `factor` frames. Its tensors live in Parameters of the caller.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/vae/spatial_vae.hpp"
#include "worker/vae/vae_config.hpp"

#include <ATen/core/Tensor.h>

#include <memory>

namespace osora::worker {

class TemporalVae {
public:
    /// Adds uninitialised tensors to `parameters`: initialise_vae() or load() fills them.
    TemporalVae(Parameters& parameters, TemporalVaeConfig const& config,
                PartOptions const& options = {});
    ~TemporalVae();
    TemporalVae(TemporalVae&&) noexcept;
    TemporalVae& operator=(TemporalVae&&) noexcept;

    /// (B, in_out_channels, T, H, W) -> moments (B, 2 embed_dim, ceil(T / factor), H, W). Zero
    /// frames are put in front so that the factor divides T.
    [[nodiscard]] at::Tensor encode(at::Tensor const& x) const;
    /// (B, embed_dim, ceil(T / factor), H, W) -> (B, in_out_channels, T, H, W), T = num_frames;
    /// what encode put in front is cut.
    [[nodiscard]] at::Tensor decode(at::Tensor const& z, std::int64_t num_frames) const;

    [[nodiscard]] TemporalVaeConfig const& config() const { return config_; }

private:
    struct Layers;
    TemporalVaeConfig config_;
    std::unique_ptr<Layers> layers_;
};

}  // namespace osora::worker
