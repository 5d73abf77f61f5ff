// Initial values of the video autoencoder: the defaults of PyTorch's Conv2d, Conv3d, Linear and
// GroupNorm, and the published shift and scale.
#include "base/check.hpp"
#include "worker/model/seeded_generator.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <array>
#include <cmath>
#include <string>

namespace osora::worker {
namespace {

constexpr std::array<double, 4> kShift{-0.10, 0.34, 0.27, 0.98};
constexpr std::array<double, 4> kScale{3.85, 2.32, 2.33, 3.06};

/// The weight that belongs to a bias; for a weight, itself.
at::Tensor weight_of(Parameters const& parameters, std::string const& name) {
    auto const* found = parameters.find(name.substr(0, name.rfind('.')) + ".weight");
    OSORA_CHECK(found != nullptr, "a bias has a weight beside it");
    return found->tensor;
}

void fill(at::Tensor const& tensor, std::array<double, 4> const& published, double otherwise) {
    tensor.fill_(otherwise);
    if (tensor.size(1) != static_cast<std::int64_t>(published.size())) return;
    for (std::size_t i = 0; i < published.size(); ++i)
        tensor.select(1, static_cast<std::int64_t>(i)).fill_(published[i]);
}

}  // namespace

void initialise_vae(Parameters const& parameters, std::uint64_t seed) {
    at::NoGradGuard const no_grad;
    for (auto const& [name, tensor, kind] : parameters.all()) {
        if (kind == TensorKind::buffer) continue;
        at::Tensor const weight = weight_of(parameters, name);
        if (weight.dim() == 1) {  // GroupNorm
            tensor.fill_(name.ends_with(".weight") ? 1 : 0);
            continue;
        }
        auto const fan_in =
            static_cast<double>(weight.numel()) / static_cast<double>(weight.size(0));
        // Drawn on the CPU in fp32 and copied, so that device and dtype do not change the draws.
        at::Tensor const values = at::empty(tensor.sizes(), at::kFloat);
        values.uniform_(-1 / std::sqrt(fan_in), 1 / std::sqrt(fan_in), generator_for(seed, name));
        tensor.copy_(values);
    }
}

void VaePipeline::initialise(std::uint64_t seed) {
    at::NoGradGuard const no_grad;
    initialise_vae(parameters_, seed);
    fill(shift_, kShift, 0);
    fill(scale_, kScale, 1);
}

}  // namespace osora::worker
