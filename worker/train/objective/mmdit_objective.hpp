// MMDiT towards the velocity of a rectified flow, as Open-Sora v2.0 trains it (scripts/diffusion/
// train.py): patches as tokens, times shifted by the size, both captions dropped independently.
#pragma once

#include "worker/model/mmdit/mmdit.hpp"
#include "worker/train/objective/objective.hpp"

#include <cstdint>

namespace osora::worker {

/// A caption used for no caption, as a batch or without the leading size.
struct NullCaption {
    at::Tensor text;    // (batch, tokens, context_in_dim)
    at::Tensor pooled;  // (batch, vec_in_dim)
};

struct MmditTraining {
    TimestepSampling sampling = TimestepSampling::logit_normal;  // or uniform
    bool timestep_shift = true;                                  // by shift_alpha of the latent
    std::uint64_t seed = 0;
    double caption_drop_prob = 0;    // of the text, and again of the pooled vector
    std::int64_t text_tokens = 512;  // of the null caption
    NullCaption null;                // "" embedded, one; undefined: zeros
};

/// `embedded` for each sample of a batch, in fp32: cut or padded with zeros to `text_tokens`.
/// Undefined parts become zeros. Open-Sora embeds "" with T5 and CLIP (scripts/diffusion/train.py).
[[nodiscard]] NullCaption null_caption(MmditConfig const& config, std::int64_t batch,
                                       std::int64_t text_tokens, at::Device device,
                                       NullCaption const& embedded = {});

class MmditObjective final : public Objective {
public:
    MmditObjective(Mmdit model, MmditTraining const& training)
        : model_(std::move(model)), training_(training) {}

    [[nodiscard]] Parameters& parameters() override { return model_.parameters(); }
    /// batch.text_mask is not read: v2.0 lets tokens of padding take part.
    [[nodiscard]] at::Tensor loss(MicroBatch const& batch) override;

private:
    [[nodiscard]] at::Tensor times(MicroBatch const& batch) const;  // (B) in 0..1
    [[nodiscard]] NullCaption captions(MicroBatch const& batch) const;

    Mmdit model_;
    MmditTraining training_;
};

}  // namespace osora::worker
