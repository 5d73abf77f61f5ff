// Operations of a network on tokens that several ranks share; with gradients. `ranks` null: one
// rank has all of them, and nothing is exchanged.
#pragma once

#include "worker/model/token_ranks.hpp"
#include "worker/model/weights/tensor_slice.hpp"

#include <functional>

namespace osora::worker {

/// A run of tokens. The first ranks have one more if the number does not divide.
struct TokenSpan {
    std::int64_t begin = 0, count = 0;
};
[[nodiscard]] TokenSpan token_span(std::int64_t tokens, int ranks, int rank);

/// This rank's run of `dim`.
[[nodiscard]] at::Tensor own_tokens(TokenRanks const* ranks, at::Tensor const& x, std::int64_t dim);

/// All `tokens` tokens of `dim` on every rank; `x` has this rank's. What follows must be the same
/// on every rank: its gradient is taken for the sum over them.
[[nodiscard]] at::Tensor all_tokens(TokenRanks* ranks, at::Tensor const& x, std::int64_t dim,
                                    std::int64_t tokens);

/// Sequences of which each rank has a run.
struct SharedTokens {
    TokenRanks* ranks = nullptr;
    std::vector<std::int64_t> sequences = {};  // lengths over all ranks: text, then image
};

/// If `tokens` share `sequences` (null: no): this rank's run of each, which `linears` share.
[[nodiscard]] SharedTokens shared_run(TokenRanks* linears, TokenRanks const* tokens,
                                      std::vector<std::int64_t> const& sequences);
/// Number of tokens that this rank has in total.
[[nodiscard]] std::int64_t own_count(SharedTokens const& shared);
[[nodiscard]] TensorShare share_of(TokenRanks const* linears);

/// Sequences of which this rank has its runs -> all of them, for a layer that the ranks share
/// (tensor parallel with sequences divided between its layers, arXiv 2205.05198). The gradient is
/// summed over the ranks.
[[nodiscard]] at::Tensor gathered_tokens(SharedTokens const& shared, at::Tensor const& own,
                                         std::int64_t dim);
/// This rank's runs of the sum over ranks of all tokens; the gradient is gathered.
[[nodiscard]] at::Tensor summed_tokens(SharedTokens const& shared, at::Tensor const& partial,
                                       std::int64_t dim);

/// q, k, v (groups, tokens, heads, head_dim) -> the same.
using Attention =
    std::function<at::Tensor(at::Tensor const& q, at::Tensor const& k, at::Tensor const& v)>;

/// `attention` over the tokens of all ranks. q, k and v have this rank's runs of the sequences,
/// concatenated, and all heads, like the result. The order in which `attention` sees tokens does
/// not matter: positions are already in q and k. The ranks must divide the heads, unless they are a
/// ring: then ring_attention() replaces `attention`, which must be scaled dot product attention.
[[nodiscard]] at::Tensor attention_over(SharedTokens const& shared, at::Tensor const& q,
                                        at::Tensor const& k, at::Tensor const& v,
                                        Attention const& attention);

}  // namespace osora::worker
