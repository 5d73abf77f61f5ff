// STDiT3 towards the velocity of a rectified flow, as Open-Sora v1.2 trains it.
#pragma once

#include "worker/model/stdit3.hpp"
#include "worker/train/objective.hpp"

#include <cstdint>

namespace osora::worker {

class Stdit3Objective final : public Objective {
public:
    /// `seed`: of times and noise.
    Stdit3Objective(Stdit3 model, RectifiedFlowConfig const& flow, std::uint64_t seed)
        : model_(std::move(model)), flow_(flow), seed_(seed) {}

    [[nodiscard]] Parameters& parameters() override { return model_.parameters(); }
    [[nodiscard]] at::Tensor loss(MicroBatch const& batch) override;

private:
    Stdit3 model_;
    RectifiedFlowConfig flow_;
    std::uint64_t seed_;
};

}  // namespace osora::worker
