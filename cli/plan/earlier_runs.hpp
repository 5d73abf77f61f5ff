// What earlier training runs say about a plan: measured passes of the same network, and how far
// plans were from what was measured.
#pragma once

#include "cli/command/context.hpp"
#include "cli/plan/plan_text.hpp"
#include "plan/planner.hpp"

namespace osora::cli {

/// Sets `request.measured_passes`, from the newest three runs whose [model], precision and trained
/// weights are those of `request.config`, and `request.past_errors`, from the newest twenty
/// training runs. All are runs of this state folder on the same backend and kind of device, without
/// trials. Nothing is set if the history cannot be read.
void use_earlier_runs(Context const& context, PlanHeader const& header, plan::PlanRequest& request);

}  // namespace osora::cli
