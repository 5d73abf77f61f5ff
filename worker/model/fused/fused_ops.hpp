// Parts of a transformer block that one kernel computes in one pass each way (docs/rfc/034), where
// the device has such kernels and the shapes fit them; nullopt: compute it operator by operator.
// Results differ from that by rounding: what is between the operators stays in fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace osora::worker {

struct FusedKernels;

/// For all networks of this process, before one runs; nullptr: none.
void use_fused_kernels(FusedKernels const* kernels);

/// Where the tokens of a result (B, frames, tokens of a frame, hidden) are: as those of x, or with
/// the frames of a place after each other, as attention over frames reads them.
enum class TokenOrder { as_x, by_place };

/// modulated() of worker/model/modulation.hpp: x (B, T, S, hidden) or (B, S, hidden).
[[nodiscard]] std::optional<at::Tensor> fused_modulated(at::Tensor const& x,
                                                        at::Tensor const& shift,
                                                        at::Tensor const& scale1, TokenOrder order);

/// x + gate * y, all of the shape of x but for the gate, which is as shift above.
[[nodiscard]] std::optional<at::Tensor> fused_gated(at::Tensor const& x, at::Tensor const& gate,
                                                    at::Tensor const& y);

/// RMSNorm of heads x (B, tokens, parts, heads, dim) with weight (parts, dim), parts 1 or 2, then a
/// rotation of pairs by `turns` (tokens, dim / 2, 2), cos and sin in fp32; undefined: none. One
/// result (B, tokens, heads, dim) for each part.
[[nodiscard]] std::optional<std::vector<at::Tensor>> fused_head_norms(at::Tensor const& x,
                                                                      at::Tensor const& weight,
                                                                      at::Tensor const& turns);

}  // namespace osora::worker
