// The layout of an encode run: clips at once in each bucket, frames at once in the autoencoder,
// threads and loader. Pure; a part of the planner.
#pragma once

#include "base/result.hpp"
#include "plan/planner.hpp"

namespace osora::plan {

/// Ranks share only clips, so only memory is predicted. out_of_memory if the autoencoder does not
/// fit, with what would; values set by the user are kept.
[[nodiscard]] Result<PlanDecision> plan_of_encode(PlanRequest const& request);

}  // namespace osora::plan
