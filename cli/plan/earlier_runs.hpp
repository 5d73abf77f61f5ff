// Source of the measured passes of a plan: the newest training runs of the same network in the
// history.
#pragma once

#include "cli/command/context.hpp"
#include "cli/plan/plan_text.hpp"
#include "plan/config/run_config.hpp"
#include "plan/measured_pass.hpp"

#include <vector>

namespace osora::cli {

/// Of the newest three runs of this state folder on the same backend and kind of device whose
/// [model], precision and trained weights are the same; none if the history cannot be read.
[[nodiscard]] std::vector<plan::MeasuredPass> measured_passes(Context const& context,
                                                              plan::RunConfig const& config,
                                                              PlanHeader const& header);

}  // namespace osora::cli
