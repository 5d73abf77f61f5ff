// The gradient norm for clipping and the check for finite gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace osora::worker {

/// L2 norm over all of `tensors` together, 0-d fp32.
[[nodiscard]] at::Tensor global_norm(std::vector<at::Tensor> const& tensors);
/// Gradients of `parameters` (those that have one).
[[nodiscard]] std::vector<at::Tensor> gradients_of(std::vector<at::Tensor> const& parameters);

}  // namespace osora::worker
