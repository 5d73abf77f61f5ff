// Adaptive LayerNorm. Private to worker/model.
#pragma once

#include <ATen/core/Tensor.h>

namespace osora::worker {

/// LayerNorm without weights (eps 1e-6), then scale and shift, which broadcast over the tokens of
/// x. `scale1` holds the 1 of (1 + scale) already.
[[nodiscard]] at::Tensor modulated(at::Tensor const& x, at::Tensor const& shift,
                                   at::Tensor const& scale1);

}  // namespace osora::worker
