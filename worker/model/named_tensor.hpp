// A tensor of a network under its name in the state dict.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

enum class TensorKind {
    trainable,
    frozen,  // a parameter of the state dict that gets no gradient (rope.freqs)
    buffer
};

struct NamedTensor {
    std::string name;
    at::Tensor tensor;
    TensorKind kind = TensorKind::trainable;
};

/// Views of the tensors' names, in their order.
[[nodiscard]] inline std::vector<std::string_view> names_of(
    std::vector<NamedTensor> const& tensors) {
    std::vector<std::string_view> names;
    for (NamedTensor const& each : tensors) names.push_back(each.name);
    return names;
}

}  // namespace osora::worker
