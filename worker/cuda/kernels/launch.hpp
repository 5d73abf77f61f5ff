// What the kernels of worker/cuda/kernels take: raw pointers, for which nvcc needs no header of
// LibTorch. worker/cuda/fused_kernels.cpp fills them; sizes are checked by worker/model/fused.
#pragma once

#include <cstdint>

struct CUstream_st;  // a cudaStream_t points to it

namespace osora::worker::kernels {

enum class Number { bf16, fp16, fp32 };

/// Where the rows of a tensor (outer, middle, inner, hidden) are, in elements.
struct RowStrides {
    std::int64_t middle = 1, inner = 1;
    std::int64_t outer_stride = 0, middle_stride = 0, inner_stride = 0;
};

/// Rows of `hidden` numbers; `per_group` rows after each other share a row of scale and shift.
struct Rows {
    std::int64_t count = 0, per_group = 1;
    std::int64_t hidden = 0;
    std::int64_t chunks = 1;  // of a group's rows, of each of which sums are written
};

struct Modulate {
    void const *x, *shift, *scale1;
    void* out;
    RowStrides out_rows;
    float *mean, *rstd;  // (rows)
    Rows rows;
};
struct ModulateBackward {
    void const *grad, *x, *scale1;
    RowStrides grad_rows;
    float const *mean, *rstd;
    void* grad_x;
    float* sums;  // (groups, chunks, 2, hidden): for shift and scale1
    Rows rows;
};
struct Gate {
    void const *x, *gate, *y;
    RowStrides y_rows;
    void* out;
    Rows rows;
};
struct GateBackward {
    void const *grad, *gate, *y;
    RowStrides y_rows;  // also of grad_y
    void* grad_y;
    float* sums;  // (groups, chunks, hidden)
    Rows rows;
};

/// Tokens of `parts` (q, k) x `heads` heads of `dim` numbers, at x + token x stride.
struct Heads {
    std::int64_t tokens = 0, stride = 0;
    int parts = 1, heads = 1, dim = 0;
    std::int64_t frames = 1;  // the frame of a token: token % frames
    int blocks = 1;           // of the backward pass, each of which writes sums
};
struct HeadNorm {
    void const *x, *weight;  // weight: (parts, dim)
    float const* turns;      // (frames, dim / 2, 2): cos and sin; nullptr: not rotated
    void* out[2];            // of each part (tokens, heads, dim)
    Heads heads;
};
struct HeadNormBackward {
    void const* grad[2];  // as out
    void const *x, *weight;
    float const* turns;
    void* grad_x;  // (tokens, parts, heads, dim)
    float* sums;   // (blocks, parts, dim)
    Heads heads;
};

void launch(Modulate const& what, Number number, CUstream_st* stream);
void launch(ModulateBackward const& what, Number number, CUstream_st* stream);
void launch(Gate const& what, Number number, CUstream_st* stream);
void launch(GateBackward const& what, Number number, CUstream_st* stream);
void launch(HeadNorm const& what, Number number, CUstream_st* stream);
void launch(HeadNormBackward const& what, Number number, CUstream_st* stream);

}  // namespace osora::worker::kernels
