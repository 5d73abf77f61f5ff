// STDiT3 towards the velocity of a rectified flow, as Open-Sora v1.2 trains it: captions of which
// some are dropped, frames of which some are given.
#pragma once

#include "worker/model/stdit3.hpp"
#include "worker/train/frame_mask.hpp"
#include "worker/train/objective.hpp"

#include <cstdint>
#include <optional>

namespace osora::worker {

struct Stdit3Training {
    RectifiedFlowConfig flow;
    std::uint64_t seed = 0;  // of times, noise, masks and dropped captions
    double caption_drop_prob = 0;
    std::optional<MaskMixture> frame_masks = {};  // none: every frame is noised
};

class Stdit3Objective final : public Objective {
public:
    Stdit3Objective(Stdit3 model, Stdit3Training training)
        : model_(std::move(model)), training_(std::move(training)) {}

    [[nodiscard]] Parameters& parameters() override { return model_.parameters(); }
    [[nodiscard]] at::Tensor loss(MicroBatch const& batch) override;

private:
    /// (B, T) bool, true: noised; undefined when every frame is.
    [[nodiscard]] at::Tensor frame_masks(MicroBatch const& batch) const;

    Stdit3 model_;
    Stdit3Training training_;
};

}  // namespace osora::worker
