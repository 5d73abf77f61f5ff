// Stdit3::initialise: the initial values of Open-Sora v1.2 (STDiT3.initialize_weights). Each tensor
// has its own stream, made from the seed and its name.
#include "worker/model/rope.hpp"
#include "worker/model/seeded_generator.hpp"
#include "worker/model/stdit/stdit3.hpp"

#include <cmath>
#include <string_view>

namespace osora::worker {
namespace {

bool starts_with(std::string_view text, std::string_view head) {
    return text.starts_with(head);
}
bool ends_with(std::string_view text, std::string_view tail) {
    return text.ends_with(tail);
}

/// Weights that start at 0, so that temporal blocks and fps change nothing at first.
bool stdit3_starts_at_zero(std::string_view name) {
    if (name == "fps_embedder.mlp.2.weight") return true;
    return starts_with(name, "temporal_blocks.") &&
           (ends_with(name, "attn.proj.weight") || ends_with(name, "mlp.fc2.weight"));
}

/// Inputs of one output.
double fan_in_of(at::Tensor const& weight) {
    return static_cast<double>(weight.numel()) / static_cast<double>(weight.size(0));
}

void initialise_stdit3(at::Tensor const& tensor, std::string_view name, double patch_fan_in,
                       at::Generator const& generator) {
    if (ends_with(name, "norm.weight")) {
        tensor.fill_(1);
    } else if (name == "rope.freqs") {
        tensor.copy_(rope_freqs(tensor.size(0)));
    } else if (stdit3_starts_at_zero(name)) {
        tensor.zero_();
    } else if (ends_with(name, "scale_shift_table") || ends_with(name, "y_embedding")) {
        tensor.normal_(0, 1 / std::sqrt(static_cast<double>(tensor.size(1))), generator);
    } else if (name == "fps_embedder.mlp.0.weight") {
        tensor.normal_(0, 0.02, generator);
    } else if (starts_with(name, "x_embedder.")) {
        // Conv3d's own default for weight and bias: U(-a, a) with a = 1 / sqrt(fan in).
        tensor.uniform_(-1 / std::sqrt(patch_fan_in), 1 / std::sqrt(patch_fan_in), generator);
    } else if (ends_with(name, ".weight")) {
        auto const fan_out = static_cast<double>(tensor.size(0));
        double const limit = std::sqrt(6 / (fan_in_of(tensor) + fan_out));  // Xavier
        tensor.uniform_(-limit, limit, generator);
    } else {
        tensor.zero_();
    }
}

}  // namespace

void Stdit3::initialise(std::uint64_t seed) {
    double const patch_fan_in = fan_in_of(parameters_.find("x_embedder.proj.weight")->tensor);
    parameters_.initialise([=](NamedTensor const& own, at::Tensor const& values) {
        initialise_stdit3(values, own.name, patch_fan_in, generator_for(seed, own.name));
    });
}

}  // namespace osora::worker
