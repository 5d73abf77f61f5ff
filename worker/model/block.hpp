// The block of STDiT3 (spatial or temporal) and its final layer. Private to worker/model.
#pragma once

#include "worker/model/attention.hpp"
#include "worker/model/block_recompute.hpp"

namespace osora::worker {

/// Input of every block in one forward pass.
struct Conditioning {
    TokenGrid grid;
    // (B, 1 or T, 6, 1, hidden): t_block(t) for each sample, or for each frame with an x_mask;
    // rows shift, 1 + scale, gate of attention, then of the MLP.
    at::Tensor modulation;
    PackedText text;
    at::Tensor rotations;         // of the temporal blocks
    TokenRanks* ranks = nullptr;  // that share the tokens of each frame; null: one has all

    SharedTokens linears = {};  // ranks that share the linear layers, and all their tokens

    [[nodiscard]] SharedTokens shared() const { return {ranks, {grid.per_frame()}}; }
    /// Values that do not change when a part of a block runs again; modulation and text.tokens are
    /// its inputs.
    [[nodiscard]] Conditioning without_gradients() const;
};

/// The `1 +` of the scales among `rows` of (shift, scale, gate), to add to t_block(t), (1, 1, rows,
/// 1, 1).
[[nodiscard]] at::Tensor modulation_offset(at::TensorOptions const& options, std::int64_t rows = 6);

struct Block {
    Block(Parameters& parameters, std::string const& name, Stdit3Config const& config,
          bool temporal);

    /// x (B, T, S, hidden) -> the same.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, Conditioning const& with,
                                        BlockRecompute const& recompute) const;

    bool temporal;
    at::Tensor scale_shift_table;  // (6, hidden)
    SelfAttention attn;
    CrossAttention cross_attn;
    Mlp mlp;

private:
    [[nodiscard]] at::Tensor plain(at::Tensor const& x, Conditioning const& with,
                                   BlockRecompute const& recompute) const;
    [[nodiscard]] ParameterList attention_parameters() const;
    /// x after both attentions; rows: shift, 1 + scale, gate.
    [[nodiscard]] at::Tensor with_attention(at::Tensor const& x,
                                            std::vector<at::Tensor> const& rows,
                                            Conditioning const& with) const;
};

/// Cross-attention and MLP of this rank's tokens x (B, T, S, hidden) -> the same.
[[nodiscard]] at::Tensor to_captions(CrossAttention const& attention, at::Tensor const& x,
                                     Conditioning const& with);
[[nodiscard]] at::Tensor fed(Mlp const& mlp, at::Tensor const& x, Conditioning const& with);

struct FinalLayer {
    FinalLayer(Parameters& parameters, Stdit3Config const& config);

    /// x (B, T, S, hidden), t (B, hidden) -> (B, T, S, patch_volume * out_channels). With x_mask
    /// (B, T), t0 is the embedding of time 0, and given frames are modulated twice, as in
    /// Open-Sora.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, at::Tensor const& t,
                                        at::Tensor const& t0, at::Tensor const& x_mask) const;

    at::Tensor scale_shift_table;  // (2, hidden): shift, scale
    Linear linear;
};

/// (B, T, S, patch_volume * out_channels) -> (B, out_channels, T, H, W), without the padding of x.
[[nodiscard]] at::Tensor unpatchify(at::Tensor const& tokens, Stdit3Config const& config,
                                    TokenGrid const& grid, at::Tensor const& x);

}  // namespace osora::worker
