// Changes that would make a request fit: keys of the run file, one at a time, and memory. Pure;
// private to the planner.
#pragma once

#include "base/result.hpp"
#include "plan/planner.hpp"

#include <functional>
#include <string>

namespace osora::plan {

/// `memory.recompute = "full", or GPUs of 34 GiB`: each alone makes `plan_of` succeed and passes
/// the validator. Empty: no known change does.
[[nodiscard]] std::string what_would_fit(
    PlanRequest const& request,
    std::function<Result<PlanDecision>(PlanRequest const&)> const& plan_of);

}  // namespace osora::plan
