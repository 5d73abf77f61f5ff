// Self-attention over frames or over tokens of a frame, and cross-attention to the captions.
// Private to worker/model.
#pragma once

#include "worker/model/embedders.hpp"
#include "worker/model/linear.hpp"
#include "worker/model/stdit/stdit3_config.hpp"
#include "worker/model/token_exchange.hpp"

namespace osora::worker {

/// qkv projection, RMSNorm of q and k (eps 1e-6), rotation of q and k if there are positions. If
/// ranks share it, each has some of the heads and adds to the result (Linear::summed).
struct SelfAttention {
    /// `rotates_first`: the rotation before the RMSNorm, as in v1.1.
    SelfAttention(Parameters& parameters, std::string const& name, Stdit3Config const& config,
                  bool rotates_first = false);

    /// x (groups, tokens, hidden) -> the same; `rotations` (tokens, 1, 1, head_dim / 2) complex or
    /// undefined.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, at::Tensor const& rotations) const {
        return over({}, x, rotations);
    }
    /// With x and rotations of this rank's tokens.
    [[nodiscard]] at::Tensor over(SharedTokens const& shared, at::Tensor const& x,
                                  at::Tensor const& rotations) const;

    std::int64_t heads, head_dim;  // this rank's heads
    Linear qkv;
    at::Tensor q_norm, k_norm;  // (head_dim); undefined without qk_norm
    Linear proj;
    bool rotates_first;

private:
    [[nodiscard]] at::Tensor normalised(at::Tensor const& qk) const;
    /// (groups, tokens, 2, heads, head_dim) -> q and k, normalised and rotated.
    [[nodiscard]] std::vector<at::Tensor> attended(at::Tensor const& qk,
                                                   at::Tensor const& rotations) const;
    /// One token attends to itself with weight 1: images in temporal blocks need no q and k.
    [[nodiscard]] at::Tensor values_alone(at::Tensor const& rows) const;
};

/// x (B, T, S, hidden): each token attends to those of its frame, which may be divided among
/// `shared`, or to those of its place in every frame.
[[nodiscard]] at::Tensor within_frames(SelfAttention const& attention, SharedTokens const& shared,
                                       at::Tensor const& x);
[[nodiscard]] at::Tensor across_frames(SelfAttention const& attention, at::Tensor const& x,
                                       at::Tensor const& rotations);

struct CrossAttention {
    CrossAttention(Parameters& parameters, std::string const& name, Stdit3Config const& config);

    /// rows (B N, hidden), each sample attending to its own captions.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& rows, PackedText const& text) const;

    std::int64_t heads, head_dim;  // this rank's heads
    Linear q_linear, kv_linear, proj;
};

}  // namespace osora::worker
