// Attention to a block of the keys, in a form in which the results of several blocks can be merged,
// and its gradients. No dropout, no mask. Private to worker/model.
#pragma once

#include <ATen/core/Tensor.h>

namespace osora::worker {

/// `fused`: PyTorch's flash attention (CPU: all types; GPU: 16-bit types and head_dim % 8 == 0, at
/// most 256). `products`: matrix products that keep all scores in memory; for everything else.
enum class AttentionKernel { fused, products };
[[nodiscard]] AttentionKernel kernel_for(at::Tensor const& q);

/// Of queries that attend to some of the keys.
struct PartialAttention {
    at::Tensor out;  // (groups, tokens, heads, head_dim)
    at::Tensor lse;  // (groups, heads, tokens): log of the sum of exponents; fp32, of fp64 fp64
};

/// Queries (groups, tokens, heads, head_dim), and a block of keys and values, (groups, keys, heads,
/// head_dim); keys >= 1.
struct QueriesAndBlock {
    at::Tensor q, k, v;
};
[[nodiscard]] PartialAttention attend_to_block(AttentionKernel kernel, QueriesAndBlock const& of);
/// Attention to the keys of both, `out` in the type of `lse` (FlashAttention-2, arXiv 2307.08691).
[[nodiscard]] PartialAttention merged(PartialAttention const& a, PartialAttention const& b);

struct AttentionGradients {
    at::Tensor q, k, v;
};
/// What the keys of one block add to the gradients. `whole`: the result of attention to all keys.
[[nodiscard]] AttentionGradients block_gradients(AttentionKernel kernel, QueriesAndBlock const& of,
                                                 PartialAttention const& whole,
                                                 at::Tensor const& grad_out);

}  // namespace osora::worker
