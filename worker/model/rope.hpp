// Rotary positions: of frames in STDiT3, and of (t, row, column) in MMDiT. Private to worker/model
// and to the tables of worker/cases.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace osora::worker {

/// 10000^(-i / pairs), (pairs) in fp32.
[[nodiscard]] at::Tensor rope_freqs(std::int64_t pairs);

/// Angles position x freq, (frames, head_dim / 2), in the type of `freqs`, to which positions are
/// also rounded (bf16: 257 becomes 256), as in rotary_embedding_torch 0.5.3.
[[nodiscard]] at::Tensor rope_angles(at::Tensor const& freqs, std::int64_t frames);
/// exp(i angle) as complex fp32 numbers, rounded to the type of `freqs`, (frames, 1, 1, head_dim /
/// 2).
[[nodiscard]] at::Tensor rope_rotations(at::Tensor const& freqs, std::int64_t frames);

/// Rotates pairs (2i, 2i + 1) of the last dimension of x (groups, frames, ..., heads, head_dim).
[[nodiscard]] at::Tensor rotate_frames(at::Tensor const& x, at::Tensor const& rotations);

/// Which two values of a head of n rotate together: (2i, 2i + 1), or (i, i + n / 2) as in Liger.
enum class RopeLayout { pairs, halves };

struct AxesRope {
    at::Tensor cos, sin;  // (B, tokens, 1, head_dim / 2), fp32
    RopeLayout layout = RopeLayout::pairs;
};

/// The first axes_dim[0] / 2 angles follow axis 0 of ids (B, tokens, 3), and so on
/// (opensora/models/mmdit/math.py).
[[nodiscard]] AxesRope axes_rope(at::Tensor const& ids, std::array<std::int64_t, 3> const& axes_dim,
                                 double theta, RopeLayout layout);
/// x (B, tokens, heads, head_dim); computed in fp32.
[[nodiscard]] at::Tensor rotate_axes(at::Tensor const& x, AxesRope const& rope);

}  // namespace osora::worker
