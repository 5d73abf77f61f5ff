// The 3-D PatchGAN discriminator of Open-Sora v1.2 (opensora/models/vae/discriminator.py
// NLayerDiscriminator3D) by name and number; and the hinge loss (losses.py). Its batch norms always
// use the batch, as they do in training, so it has no running averages.
#pragma once

#include "worker/model/parameters.hpp"

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

namespace osora::worker {

struct DiscriminatorConfig {
    std::int64_t input_nc = 3;
    std::int64_t ndf = 64;  // filters of the first layer
    std::int64_t n_layers = 3;
};

class Discriminator {
public:
    /// Weights N(0, 0.02) from the seed, those of norms N(1, 0.02).
    Discriminator(DiscriminatorConfig const& config, std::uint64_t seed, at::TensorOptions options);

    /// (B, input_nc, T, H, W) -> logits of patches (B, 1, t, h, w)
    [[nodiscard]] at::Tensor operator()(at::Tensor const& video) const;
    /// The least T, H and W that leave a patch: 10, 24, 24 for three layers.
    [[nodiscard]] static std::array<std::int64_t, 3> least_size(DiscriminatorConfig const& config);

    [[nodiscard]] Parameters const& parameters() const { return parameters_; }

private:
    struct Layer {
        at::Tensor weight, bias;            // bias may be undefined
        at::Tensor norm_weight, norm_bias;  // undefined: no norm
        std::array<std::int64_t, 3> stride{};
    };
    void add_layer(std::int64_t index, std::array<std::int64_t, 2> channels,
                   std::array<std::int64_t, 3> stride, bool with_norm);

    Parameters parameters_;
    std::vector<Layer> layers_;
};

/// (mean relu(1 - real) + mean relu(1 + fake)) / 2
[[nodiscard]] at::Tensor hinge_loss(at::Tensor const& real_logits, at::Tensor const& fake_logits);

}  // namespace osora::worker
