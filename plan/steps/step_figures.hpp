// Figures of a step in a plain line, each found by a table of expressions. Private to plan/steps.
// Pure.
#pragma once

#include "plan/config/step_pattern.hpp"

#include <string_view>

namespace osora::plan {

/// A time in seconds of one step, or since the start: StepFinder decides which.
inline constexpr std::string_view kMaybeTime = "maybe_time_s";

[[nodiscard]] bool holds(std::string_view line, std::string_view word);

/// Adds loss, lr and grad_norm.
void read_losses(std::string_view plain, StepFigures& figures);
/// Adds time_s or kMaybeTime.
void read_times(std::string_view plain, StepFigures& figures);

}  // namespace osora::plan
