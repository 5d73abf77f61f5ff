// The block of STDiT3 (spatial or temporal) and its final layer. Private to worker/model.
#pragma once

#include "worker/model/attention.hpp"

namespace osora::worker {

/// What every block of one forward pass reads.
struct Conditioning {
    TokenGrid grid;
    // (B, 1 or T, 6, 1, hidden): t_block(t) for each sample, or for each frame with an x_mask;
    // rows shift, 1 + scale, gate of attention, then of the MLP.
    at::Tensor modulation;
    PackedText text;
    at::Tensor rotations;  // of the temporal blocks
};

/// The `1 +` of modulation rows 1 and 4, to add to t_block(t).
[[nodiscard]] at::Tensor modulation_offset(at::TensorOptions const& options);

struct Block {
    Block(Parameters& parameters, std::string const& name, Stdit3Config const& config,
          bool temporal);

    /// x (B, T, S, hidden) -> the same.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, Conditioning const& with) const;

    bool temporal;
    at::Tensor scale_shift_table;  // (6, hidden)
    SelfAttention attn;
    CrossAttention cross_attn;
    Mlp mlp;

private:
    [[nodiscard]] at::Tensor attended(at::Tensor const& x, Conditioning const& with) const;
};

struct FinalLayer {
    FinalLayer(Parameters& parameters, Stdit3Config const& config);

    /// x (B, T, S, hidden), t (B, hidden) -> (B, T, S, patch_volume * out_channels). With x_mask
    /// (B, T), t0 is the embedding of time 0, and given frames are modulated twice, as there.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& x, at::Tensor const& t,
                                        at::Tensor const& t0, at::Tensor const& x_mask) const;

    at::Tensor scale_shift_table;  // (2, hidden): shift, scale
    Linear linear;
};

}  // namespace osora::worker
