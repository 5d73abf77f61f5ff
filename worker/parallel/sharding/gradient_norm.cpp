#include "worker/parallel/sharding/gradient_norm.hpp"

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

namespace osora::worker {

at::Tensor global_norm(std::vector<at::Tensor> const& tensors) {
    if (tensors.empty()) return at::zeros({}, at::kFloat);
    return at::stack(at::_foreach_norm(tensors, 2, at::kFloat)).norm();
}

std::vector<at::Tensor> gradients_of(std::vector<at::Tensor> const& parameters) {
    std::vector<at::Tensor> gradients;
    for (auto const& parameter : parameters)
        if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    return gradients;
}

}  // namespace osora::worker
