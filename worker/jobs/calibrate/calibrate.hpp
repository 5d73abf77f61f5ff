// `osora-worker --calibrate`: measures the constants of the planner's formulas on this machine, in
// well under a minute. Wall times on a shared machine are noisy: every figure is the best of
// several runs.
#pragma once

#include "base/result.hpp"
#include "plan/calibration.hpp"

namespace osora::worker {

[[nodiscard]] Result<plan::Calibration> calibrate_cpu();

}  // namespace osora::worker
