// The run's own network on the meta device, whose passes compute nothing: every layer, exchange and
// recomputed block comes in the order of training.
#pragma once

#include "base/result.hpp"
#include "plan/activation_choice.hpp"
#include "plan/decision.hpp"
#include "plan/model/model_description.hpp"
#include "worker/model/layer_ranks.hpp"
#include "worker/model/parameters.hpp"

#include <c10/core/ScalarType.h>

#include <memory>

namespace osora::worker {

class RehearsedModel {
public:
    virtual ~RehearsedModel() = default;
    [[nodiscard]] virtual Parameters& parameters() = 0;
    /// Of `samples` samples with null captions: a scalar from which backward begins. Latents are
    /// those of the model's own autoencoder.
    [[nodiscard]] virtual at::Tensor forward(plan::BucketPlan const& bucket,
                                             std::int64_t samples) const = 0;
};

struct RehearsedLayers {
    at::ScalarType type = at::kFloat;  // of weights
    LayerRanks layers = {};
    std::shared_ptr<TokenRanks> tokens = nullptr;  // null: one rank has all tokens
    plan::RecomputeChoice recompute = {};
};

/// invalid_input: sizes that the network cannot have.
[[nodiscard]] Result<std::unique_ptr<RehearsedModel>> rehearsed_model(plan::ModelShape const& shape,
                                                                      RehearsedLayers const& with);

}  // namespace osora::worker
