// The block of STDiT2: attention within frames, over frames, to the caption, and one MLP. Private
// to worker/model.
#pragma once

#include "worker/model/block.hpp"
#include "worker/model/stdit/stdit2_config.hpp"

namespace osora::worker {

/// Input of every block in one forward pass.
struct Stdit2Conditioning {
    Conditioning both;    // modulation of attention within frames and of the MLP
    at::Tensor temporal;  // (B, 1 or T, 3, 1, hidden): shift, 1 + scale, gate over frames
};

struct Stdit2Block {
    Stdit2Block(Parameters& parameters, std::string const& name, Stdit2Config const& config);

    /// x (B, T, S, hidden) -> the same.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, Stdit2Conditioning const& with,
                                        BlockRecompute const& recompute) const;

    at::Tensor scale_shift_table;  // (6, hidden)
    SelfAttention attn;
    at::Tensor scale_shift_table_temporal;  // (3, hidden)
    SelfAttention attn_temp;
    CrossAttention cross_attn;
    Mlp mlp;

private:
    [[nodiscard]] at::Tensor plain(at::Tensor const& x, Stdit2Conditioning const& with,
                                   BlockRecompute const& recompute) const;
    [[nodiscard]] ParameterList attention_parameters() const;
    /// x after the three attentions; rows: shift, 1 + scale, gate within frames, then over them.
    [[nodiscard]] at::Tensor with_attention(at::Tensor const& x,
                                            std::vector<at::Tensor> const& rows,
                                            Conditioning const& with) const;
};

}  // namespace osora::worker
