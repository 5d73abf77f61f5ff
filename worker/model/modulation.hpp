// Adaptive LayerNorm. Private to worker/model.
#pragma once

#include "worker/model/fused/fused_ops.hpp"

namespace osora::worker {

/// LayerNorm without weights (eps 1e-6), then scale and shift, which broadcast over the tokens of
/// x. `scale1` holds the 1 of (1 + scale) already. `order` is a wish.
[[nodiscard]] at::Tensor modulated(at::Tensor const& x, at::Tensor const& shift,
                                   at::Tensor const& scale1, TokenOrder order = TokenOrder::as_x);

/// x + gate * y; the gate broadcasts over the tokens of x.
[[nodiscard]] at::Tensor gated(at::Tensor const& x, at::Tensor const& gate, at::Tensor const& y);

}  // namespace osora::worker
