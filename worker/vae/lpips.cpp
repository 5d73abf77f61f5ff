#include "worker/vae/lpips.hpp"

#include "base/check.hpp"
#include "worker/vae/vae_layers.hpp"

#include <ATen/ops/conv2d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <fmt/format.h>

#include <utility>
#include <vector>

namespace osora::worker {
namespace {

/// Convolutions of each stage of VGG16, and the index of each in torchvision's `features`: a
/// convolution, its ReLU, ...; there is one pool between two stages.
constexpr std::array<std::array<int, 3>, 5> kFeatures{
    {{0, 2, -1}, {5, 7, -1}, {10, 12, 14}, {17, 19, 21}, {24, 26, 28}}};

constexpr double kNormEps = 1e-10;

at::Tensor unit_length(at::Tensor const& features) {
    return features.div(features.square().sum(1, true).sqrt().add(kNormEps));
}

}  // namespace

struct Lpips::Layers {
    Layers(Scope const& scope, LpipsConfig const& config) {
        std::int64_t width = 3;
        for (std::size_t stage = 0; stage < kFeatures.size(); ++stage) {
            Scope const slice = scope / fmt::format("net.slice{}", stage + 1);
            for (std::int64_t const index : kFeatures[stage])
                if (index >= 0)
                    stages[stage].emplace_back(slice / index,
                                               std::exchange(width, config.widths[stage]),
                                               config.widths[stage], 3);
        }
        for (std::size_t stage = 0; stage < kFeatures.size(); ++stage)
            lins[stage] = scope.add(fmt::format("lin{}.model.1.weight", stage).c_str(),
                                    {1, config.widths[stage], 1, 1});
        Scope const scaling{scope.parameters, "scaling_layer", TensorKind::buffer};
        shift = scaling.add("shift", {1, 3, 1, 1});
        scale = scaling.add("scale", {1, 3, 1, 1});
    }

    /// After the last ReLU of each stage.
    [[nodiscard]] std::array<at::Tensor, 5> features(at::Tensor const& frames) const {
        std::array<at::Tensor, 5> out;
        at::Tensor x = frames.sub(shift).div(scale);
        for (std::size_t stage = 0; stage < stages.size(); ++stage) {
            if (stage > 0) x = at::max_pool2d(x, {2, 2}, {2, 2});
            for (auto const& conv : stages[stage]) x = at::relu(conv(x));
            out[stage] = x;
        }
        return out;
    }

    std::array<std::vector<Conv2d>, 5> stages;
    std::array<at::Tensor, 5> lins;
    at::Tensor shift, scale;
};

Lpips::Lpips(Parameters& parameters, LpipsConfig const& config)
    : layers_(std::make_unique<Layers>(Scope{parameters, "", TensorKind::frozen}, config)) {}
Lpips::~Lpips() = default;

at::Tensor Lpips::operator()(at::Tensor const& a, at::Tensor const& b) const {
    OSORA_CHECK(a.sizes() == b.sizes(), "both have the same frames");
    OSORA_CHECK(a.size(2) >= 16 && a.size(3) >= 16, "four pools halve each side");
    auto const of_a = layers_->features(a);
    auto const of_b = layers_->features(b);
    at::Tensor distance;
    for (std::size_t stage = 0; stage < of_a.size(); ++stage) {
        at::Tensor const difference = unit_length(of_a[stage]).sub(unit_length(of_b[stage]));
        at::Tensor const value =
            at::conv2d(difference.square(), layers_->lins[stage]).mean({2, 3}, true);
        distance = distance.defined() ? distance.add(value) : value;
    }
    return distance;
}

}  // namespace osora::worker
