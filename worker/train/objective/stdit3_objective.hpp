// STDiT3 and STDiT2 towards the velocity of a rectified flow, as Open-Sora v1.2 trains STDiT3:
// captions of which some are dropped, frames of which some are given.
#pragma once

#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/train/objective/frame_mask.hpp"
#include "worker/train/objective/objective.hpp"

#include <cstdint>
#include <optional>

namespace osora::worker {

struct Stdit3Training {
    RectifiedFlowConfig flow;
    std::uint64_t seed = 0;  // of times, noise, masks and dropped captions
    double caption_drop_prob = 0;
    std::optional<MaskMixture> frame_masks = {};  // none: every frame is noised
};

/// The objective shared by both networks; a subclass adds the network.
class StditObjective : public Objective {
public:
    explicit StditObjective(Stdit3Training training) : training_(std::move(training)) {}

    [[nodiscard]] at::Tensor loss(MicroBatch const& batch) override;

private:
    [[nodiscard]] virtual at::Tensor velocity(Stdit3Input const& input,
                                              MicroBatch const& batch) const = 0;
    /// (B, T) bool, true: noised; undefined when every frame is.
    [[nodiscard]] at::Tensor frame_masks(MicroBatch const& batch) const;

    Stdit3Training training_;
};

class Stdit3Objective final : public StditObjective {
public:
    Stdit3Objective(Stdit3 model, Stdit3Training training)
        : StditObjective(std::move(training)), model_(std::move(model)) {}

    [[nodiscard]] Parameters& parameters() override { return model_.parameters(); }

private:
    [[nodiscard]] at::Tensor velocity(Stdit3Input const& input,
                                      MicroBatch const& batch) const override;

    Stdit3 model_;
};

class Stdit2Objective final : public StditObjective {
public:
    Stdit2Objective(Stdit2 model, Stdit3Training training)
        : StditObjective(std::move(training)), model_(std::move(model)) {}

    [[nodiscard]] Parameters& parameters() override { return model_.parameters(); }

private:
    [[nodiscard]] at::Tensor velocity(Stdit3Input const& input,
                                      MicroBatch const& batch) const override;

    Stdit2 model_;
};

/// For clips of one size: also passes height, width, their ratio and the number of frames.
[[nodiscard]] Stdit2Input stdit2_input(Stdit3Input const& input, VideoSize const& size);

}  // namespace osora::worker
