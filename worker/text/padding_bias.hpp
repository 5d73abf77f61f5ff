// What is added to attention scores for keys that must not be seen. Private to worker/text.
#pragma once

#include <ATen/core/Tensor.h>

namespace osora::worker {

/// The dtype's lowest number, not -inf: a row without a key to see gives numbers, not NaN.
[[nodiscard]] double lowest_score(at::ScalarType dtype);

/// mask (B, L), 0 = padding -> (B, 1, 1, L) of these options: 0 or lowest_score().
[[nodiscard]] at::Tensor padding_bias(at::Tensor const& mask, at::TensorOptions const& options);

}  // namespace osora::worker
