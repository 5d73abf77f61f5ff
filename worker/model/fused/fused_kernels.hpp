// Kernels that do several operators in one pass over their tensors, where a module has them
// (worker/cuda). The caller allocates results; fused_ops.hpp checks what fits.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace osora::worker {

/// x contiguous (B, T, S, hidden); shift, scale1 (groups, hidden), each for as many rows of x after
/// each other; out like x, the rows anywhere; mean, rstd (rows, 1) in fp32.
struct ModulateCall {
    at::Tensor x, shift, scale1, out, mean, rstd;
};
/// sums (groups, chunks, 2, hidden) in fp32: to be added up over chunks, for shift and scale1.
struct ModulateBackwardCall {
    at::Tensor grad, x, scale1, mean, rstd, grad_x, sums;
};
/// x and out contiguous (B, T, S, hidden); y the same, its rows anywhere; gate (groups, hidden).
struct GateCall {
    at::Tensor x, gate, y, out;
};
/// grad_y as y; sums (groups, chunks, hidden) in fp32.
struct GateBackwardCall {
    at::Tensor grad, gate, y, grad_y, sums;
};
/// x (tokens, parts, heads, dim), any stride of tokens; weight (parts, dim); turns (frames, dim /
/// 2, 2) in fp32 or undefined; out: of each part, contiguous (tokens, heads, dim).
struct HeadNormCall {
    at::Tensor x, weight, turns;
    std::array<at::Tensor, 2> out;
};
/// grad as out; grad_x contiguous; sums (blocks, parts, dim) in fp32.
struct HeadNormBackwardCall {
    std::array<at::Tensor, 2> grad;
    at::Tensor x, weight, turns, grad_x, sums;
};

struct FusedKernels {
    at::DeviceType device = at::kCUDA;  // of their tensors
    void (*modulate)(ModulateCall const&) = nullptr;
    void (*modulate_backward)(ModulateBackwardCall const&) = nullptr;
    void (*gate)(GateCall const&) = nullptr;
    void (*gate_backward)(GateBackwardCall const&) = nullptr;
    void (*head_norm)(HeadNormCall const&) = nullptr;
    void (*head_norm_backward)(HeadNormBackwardCall const&) = nullptr;
};

}  // namespace osora::worker
