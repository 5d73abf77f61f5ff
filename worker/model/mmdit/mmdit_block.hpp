// The double block (image and text streams, joint attention) and the single block (one stream,
// attention beside the MLP) of MMDiT. Private to worker/model.
#pragma once

#include "worker/model/block_recompute.hpp"
#include "worker/model/linear.hpp"
#include "worker/model/mmdit/mmdit_config.hpp"
#include "worker/model/rope.hpp"
#include "worker/model/token_exchange.hpp"

#include <utility>
#include <vector>

namespace osora::worker {

/// Input of every block in one forward pass.
struct MmditConditioning {
    at::Tensor silu_vec;  // (B, hidden): SiLU of the embedded time, captions and guidance
    AxesRope rope;        // of those that share linear layers: their tokens, text first
    SharedTokens shared;  // text, image
    /// Ranks that share the linear layers, and the total number of tokens of each stream.
    SharedTokens linears;

    [[nodiscard]] SharedTokens text() const { return {linears.ranks, {linears.sequences[0]}}; }
    [[nodiscard]] SharedTokens image() const { return {linears.ranks, {linears.sequences[1]}}; }
};

/// Queries, keys and values, (B, tokens, heads, head_dim) each.
struct Heads {
    at::Tensor q, k, v;
};

/// RMSNorm of queries and of keys, eps 1e-6, in fp32.
struct QkNorm {
    QkNorm(Parameters& parameters, std::string const& name, MmditConfig const& config);
    at::Tensor query_scale, key_scale;  // (head_dim)
};

/// One stream of a double block: `name` is "double_blocks.I.img" or ".txt".
struct Stream {
    Stream(Parameters& parameters, std::string const& name, MmditConfig const& config);

    /// Rows shift, scale, gate of attention, then of the MLP, (B, 1, hidden) each.
    [[nodiscard]] std::vector<at::Tensor> modulation(at::Tensor const& silu_vec) const;
    /// Before their norms; for all tokens of `over`, and this rank's heads.
    [[nodiscard]] Heads heads(at::Tensor const& x, std::vector<at::Tensor> const& rows,
                              SharedTokens const& over) const;
    /// x and the result of attention -> x after attention and MLP.
    [[nodiscard]] at::Tensor updated(at::Tensor const& x, at::Tensor const& attended,
                                     std::vector<at::Tensor> const& rows,
                                     SharedTokens const& over) const;

    std::int64_t num_heads;  // this rank's
    Linear mod;
    std::vector<Linear> qkv;  // one of all three, or one each
    QkNorm norm;
    Linear proj, mlp_in, mlp_out;
};

struct DoubleBlock {
    DoubleBlock(Parameters& parameters, std::string const& name, MmditConfig const& config);

    /// img (B, tokens, hidden), txt (B, L, hidden) -> the same.
    [[nodiscard]] std::pair<at::Tensor, at::Tensor> operator()(
        at::Tensor const& img, at::Tensor const& txt, MmditConditioning const& with,
        BlockRecompute const& recompute) const;
    Stream img, txt;

private:
    /// Tokens followed by the result of attention: image, text.
    [[nodiscard]] std::vector<at::Tensor> plain(std::vector<at::Tensor> const& from,
                                                MmditConditioning const& rest,
                                                BlockRecompute const& recompute) const;
};

struct SingleBlock {
    SingleBlock(Parameters& parameters, std::string const& name, MmditConfig const& config);

    /// x (B, L + tokens, hidden) -> the same.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, MmditConditioning const& with,
                                        BlockRecompute const& recompute) const;

    std::int64_t hidden, mlp_hidden, num_heads;  // this rank's
    std::vector<Linear> inputs;                  // linear1 (q, k, v, mlp), or q_proj, k_proj, v_mlp
    Linear linear2;
    QkNorm norm;
    Linear modulation;

private:
    /// q, k, v and the input of the MLP's GELU.
    [[nodiscard]] std::vector<at::Tensor> projected(at::Tensor const& x) const;
    [[nodiscard]] at::Tensor plain(at::Tensor const& x, MmditConditioning const& with,
                                   BlockRecompute const& recompute) const;
};

}  // namespace osora::worker
