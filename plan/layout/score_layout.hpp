// The layout of a score run: threads of a rank, and the time of the whole list. Pure; a part of the
// planner.
#pragma once

#include "base/result.hpp"
#include "plan/planner.hpp"

namespace osora::plan {

/// predicted.clips and predicted.total_s follow from request.listed; nothing is predicted without
/// it, if none of its rows gives frames, height and width, or with scores by models.
[[nodiscard]] Result<PlanDecision> plan_of_score(PlanRequest const& request);

}  // namespace osora::plan
