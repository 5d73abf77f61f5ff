// Mmdit::initialise: Open-Sora v2.0 keeps the initial values of torch.nn.Linear, U(-a, a) with
// a = 1 / sqrt(inputs) for weight and bias, and starts cond_in at 0.
#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/seeded_generator.hpp"

#include <cmath>
#include <map>
#include <string>
#include <string_view>

namespace osora::worker {
namespace {

constexpr std::string_view kWeight = ".weight";

/// "img_in" of "img_in.weight" and "img_in.bias".
std::string layer_of(std::string_view name) {
    return std::string(name.substr(0, name.rfind('.')));
}

}  // namespace

void Mmdit::initialise(std::uint64_t seed) {
    std::map<std::string, double, std::less<>> inputs;  // of each layer
    for (auto const& entry : parameters_.all())
        if (entry.name.ends_with(kWeight))
            inputs[layer_of(entry.name)] = static_cast<double>(parameters_.whole_sizes(entry)[1]);
    parameters_.initialise([=](NamedTensor const& own, at::Tensor const& values) {
        if (own.name.ends_with("_norm.scale")) {
            values.fill_(1);
        } else if (own.name.starts_with("cond_in.")) {
            values.zero_();
        } else {
            double const limit = 1 / std::sqrt(inputs.at(layer_of(own.name)));
            values.uniform_(-limit, limit, generator_for(seed, own.name));
        }
    });
}

}  // namespace osora::worker
