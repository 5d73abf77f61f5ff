// How an encode run is laid out: clips at once in each bucket, frames at once in the autoencoder,
// threads and loader. Pure; a part of the planner.
#pragma once

#include "base/result.hpp"
#include "plan/planner.hpp"

namespace osora::plan {

/// Ranks share clips and nothing else, so nothing is predicted but memory. out_of_memory when the
/// autoencoder does not fit, with what would; a user's numbers are taken as they are.
[[nodiscard]] Result<PlanDecision> plan_of_encode(PlanRequest const& request);

}  // namespace osora::plan
