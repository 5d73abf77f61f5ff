// The 2-D autoencoder of Open-Sora v1.2: AutoencoderKL of diffusers 0.29.2, by name and number. Its
// tensors are in the caller's Parameters, so it can be used alone or as a part of a pipeline.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/vae/tiling.hpp"
#include "worker/vae/vae_config.hpp"

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

namespace osora::worker {

/// The position of a part's tensors in `Parameters`.
struct PartOptions {
    std::string prefix;  // "spatial_vae.module"; empty: the root
    TensorKind kind = TensorKind::trainable;
};

class SpatialVae {
public:
    /// Adds uninitialised tensors to `parameters`: initialise_vae() or load() fills them.
    SpatialVae(Parameters& parameters, SpatialVaeConfig const& config,
               PartOptions const& options = {});
    ~SpatialVae();
    SpatialVae(SpatialVae&&) noexcept;
    SpatialVae& operator=(SpatialVae&&) noexcept;

    /// (N, in_channels, H, W) -> moments (N, 2 latent_channels, h, w), h = H / factor.
    [[nodiscard]] at::Tensor encode(at::Tensor const& x, Tiling const& tiling = {}) const;
    /// (N, latent_channels, h, w) -> (N, out_channels, h factor, w factor)
    [[nodiscard]] at::Tensor decode(at::Tensor const& z, Tiling const& tiling = {}) const;

    [[nodiscard]] SpatialVaeConfig const& config() const { return config_; }

private:
    struct Layers;
    SpatialVaeConfig config_;
    std::unique_ptr<Layers> layers_;
};

}  // namespace osora::worker
