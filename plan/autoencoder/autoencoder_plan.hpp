// The plan of job = "train_vae" and "train_vqvae": batches, and how many frames an autoencoder
// processes at a time so that it fits. Pure. Times of these jobs are not predicted, and the plan
// says so.
#pragma once

#include "base/result.hpp"
#include "plan/planner.hpp"

namespace osora::plan {

/// `request` must be validated. out_of_memory says what the smallest pieces would need.
[[nodiscard]] Result<PlanDecision> plan_autoencoder(PlanRequest const& request);

}  // namespace osora::plan
