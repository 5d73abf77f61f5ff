// Steps of a user program, found in what it writes: records on the descriptor OSORA_STEP_FD, or
// lines as common trainers print them (plan/steps). Pure.
#pragma once

#include "base/result.hpp"
#include "plan/steps/step_line.hpp"
#include "protocol/messages/worker_messages.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace osora::daemon {

/// A record of OSORA_STEP_FD: "step=12 time_s=0.31 loss=0.2", in any order, split by blanks. Names
/// are those of protocol::StepMetrics, and time_s; unknown names are ignored, so that a program may
/// report more than this version knows. invalid_input: no step, or a value that is not a number.
[[nodiscard]] Result<plan::StepFigures> parse_step_record(std::string_view line);

using plan::find_step;
using plan::may_be_step;

struct SaidStep {
    protocol::StepMetrics metrics;
    std::set<std::string> said;  // members of `metrics` that the program gave
};
/// What was skipped since the last one, because a rank of an exec job reported more than is read
/// (step_intake.hpp).
struct StepsLeftOut {
    int attempt = 0, rank = 0;
    std::int64_t bytes = 0, steps = 0;
};
/// An exec job's rank has printed but reported no step; at most once a minute.
struct OutputRead {
    int attempt = 0, rank = 0;
};
/// Help for users whose program reports no steps.
[[nodiscard]] std::string how_steps_are_found();
/// Text of a notice: no step was found in what an exec job printed.
inline constexpr char const* kNoStepsFound = "no_steps_found";

/// The figures as metrics; nullopt when the step is out of range or a time is negative.
[[nodiscard]] std::optional<SaidStep> said_step(plan::StepFigures const& figures);

}  // namespace osora::daemon
