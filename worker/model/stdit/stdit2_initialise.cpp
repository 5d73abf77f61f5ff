// Stdit2::initialise: the initial values of Open-Sora v1.1 (STDiT2.initialize_weights and
// initialize_temporal). Each tensor has its own stream, made from the seed and its name.
#include "worker/model/rope.hpp"
#include "worker/model/seeded_generator.hpp"
#include "worker/model/stdit/stdit2.hpp"

#include <cmath>
#include <string_view>

namespace osora::worker {
namespace {

/// Layers whose output starts at 0: over frames, to the caption, and the last.
bool stdit2_starts_at_zero(std::string_view name) {
    return name.find(".attn_temp.proj.") != name.npos ||
           name.find(".cross_attn.proj.") != name.npos || name.starts_with("final_layer.linear.");
}

bool starts_small(std::string_view name) {
    return name.starts_with("t_embedder.") || name.starts_with("t_block") ||
           name.starts_with("y_embedder.y_proj.");
}

void initialise_stdit2(at::Tensor const& tensor, std::string_view name, double patch_fan_in,
                       at::Generator const& generator) {
    if (name.ends_with("norm.weight")) {
        tensor.fill_(1);
    } else if (name == "rope.freqs") {
        tensor.copy_(rope_freqs(tensor.size(0)));
    } else if (name.find("scale_shift_table") != name.npos || name.ends_with("y_embedding")) {
        tensor.normal_(0, 1 / std::sqrt(static_cast<double>(tensor.size(1))), generator);
    } else if (name == "x_embedder.proj.bias") {
        // Conv3d's own default.
        tensor.uniform_(-1 / std::sqrt(patch_fan_in), 1 / std::sqrt(patch_fan_in), generator);
    } else if (name.ends_with(".bias") || stdit2_starts_at_zero(name)) {
        tensor.zero_();
    } else if (starts_small(name)) {
        tensor.normal_(0, 0.02, generator);
    } else {
        auto const fan_out = static_cast<double>(tensor.size(0));
        double const fan_in = static_cast<double>(tensor.numel()) / fan_out;
        double const limit = std::sqrt(6 / (fan_in + fan_out));  // Xavier
        tensor.uniform_(-limit, limit, generator);
    }
}

}  // namespace

void Stdit2::initialise(std::uint64_t seed) {
    auto const patch_fan_in =
        static_cast<double>(config_.in_channels) * static_cast<double>(config_.patch_volume());
    parameters_.initialise([=](NamedTensor const& own, at::Tensor const& values) {
        initialise_stdit2(values, own.name, patch_fan_in, generator_for(seed, own.name));
    });
}

}  // namespace osora::worker
