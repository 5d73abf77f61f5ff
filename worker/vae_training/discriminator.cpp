#include "worker/vae_training/discriminator.hpp"

#include "worker/model/seeded_generator.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>

namespace osora::worker {
namespace {

constexpr std::int64_t kKernel = 4;
constexpr double kSlope = 0.2, kBatchNormEps = 1e-5;
constexpr double kSpread = 0.02;  // of initial weights
constexpr std::int64_t kMostFactor = 8;

std::int64_t factor_of(std::int64_t layer) {
    return std::min<std::int64_t>(std::int64_t{1} << layer, kMostFactor);
}

}  // namespace

void Discriminator::add_layer(std::int64_t index, std::array<std::int64_t, 2> channels,
                              std::array<std::int64_t, 3> stride, bool with_norm) {
    auto const name = [](std::int64_t at, char const* leaf) {
        return fmt::format("main.{}.{}", at, leaf);
    };
    Layer layer;
    layer.weight = parameters_.add(name(index, "weight"),
                                   {channels[1], channels[0], kKernel, kKernel, kKernel});
    layer.stride = stride;
    if (with_norm) {
        layer.norm_weight = parameters_.add(name(index + 1, "weight"), {channels[1]});
        layer.norm_bias = parameters_.add(name(index + 1, "bias"), {channels[1]});
    } else {
        layer.bias = parameters_.add(name(index, "bias"), {channels[1]});
    }
    layers_.push_back(std::move(layer));
}

Discriminator::Discriminator(DiscriminatorConfig const& config, std::uint64_t seed,
                             at::TensorOptions options)
    : parameters_(options) {
    add_layer(0, {config.input_nc, config.ndf}, {2, 2, 2}, false);
    std::int64_t index = 2;
    for (std::int64_t n = 1; n <= config.n_layers; ++n, index += 3) {
        std::int64_t const side = n < config.n_layers ? 2 : 1;
        add_layer(index, {config.ndf * factor_of(n - 1), config.ndf * factor_of(n)},
                  {1, side, side}, true);
    }
    add_layer(index, {config.ndf * factor_of(config.n_layers), 1}, {1, 1, 1}, false);
    initialise_vae(parameters_, seed);
    at::NoGradGuard const no_grad;
    for (auto const& [name, tensor, kind] : parameters_.all()) {
        if (!name.ends_with("weight")) continue;
        at::Tensor const draws = at::randn(tensor.sizes(), generator_for(seed, name), at::kFloat);
        tensor.copy_(draws.mul(kSpread).add(tensor.dim() == 1 ? 1.0 : 0.0));
    }
}

at::Tensor Discriminator::operator()(at::Tensor const& video) const {
    at::Tensor x = video;
    for (Layer const& layer : layers_) {
        bool const first = &layer == &layers_.front(), last = &layer == &layers_.back();
        x = at::conv3d(x, layer.weight,
                       layer.bias.defined() ? std::optional(layer.bias) : std::nullopt,
                       layer.stride, {1, 1, 1});
        if (!first && !last)
            x = at::batch_norm(x, layer.norm_weight, layer.norm_bias, {}, {}, true, 0.1,
                               kBatchNormEps, false);
        if (!last) x = at::leaky_relu(x, kSlope);
    }
    return x;
}

std::array<std::int64_t, 3> Discriminator::least_size(DiscriminatorConfig const& config) {
    // Backwards from one patch: in = (out - 1) stride + kernel - 2 padding.
    auto const before = [](std::int64_t out, std::int64_t stride) {
        return (out - 1) * stride + kKernel - 2;
    };
    std::int64_t frames = before(1, 1), side = before(1, 1);
    for (std::int64_t n = config.n_layers; n >= 1; --n) {
        frames = before(frames, 1);
        side = before(side, n < config.n_layers ? 2 : 1);
    }
    return {before(frames, 2), before(side, 2), before(side, 2)};
}

at::Tensor hinge_loss(at::Tensor const& real_logits, at::Tensor const& fake_logits) {
    return at::relu(real_logits.neg().add(1))
        .mean()
        .add(at::relu(fake_logits.add(1)).mean())
        .mul(0.5);
}

}  // namespace osora::worker
