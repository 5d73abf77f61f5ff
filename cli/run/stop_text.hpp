// What people read about a run that is asked to stop, by its kind of job.
#pragma once

#include "protocol/run_status.hpp"

#include <string>
#include <string_view>

namespace osora::cli {

/// Training does; a rehearsal trains nothing, encoding and scoring keep what is done as files, and
/// a user's program has its own.
[[nodiscard]] bool saves_checkpoints(protocol::RunStatus const& run);

/// What the run does once it is asked to stop: "stopping after STEP, with a checkpoint". `step`:
/// "its step" or "this step".
[[nodiscard]] std::string stopping(protocol::RunStatus const& run, std::string_view step);

/// "osora resume 7 continues"; of a rehearsal, which keeps nothing, "osora resume 7 repeats it".
[[nodiscard]] std::string resume_hint(protocol::RunStatus const& run, int number);

}  // namespace osora::cli
