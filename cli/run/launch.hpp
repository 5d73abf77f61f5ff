// Starts a run's controller: a child on a lifeline (attached), or in a session of its own
// (--detach).
#pragma once

#include "base/process/process.hpp"
#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace osora::cli {

/// A controller that this process started. It takes the closing of the lifeline as a stop request.
struct Controller {
    Child child;
    Descriptor lifeline;  // closed and unset when detached
};

struct LaunchOptions {
    bool attached = true;
    bool resume = false;  // reopens a run that has ended
};

/// osorad in osora's folder; not_found when it is missing.
[[nodiscard]] Result<std::filesystem::path> controller_program(Context const& context);
/// $OSORA_WORKER, else osora-worker in osora's folder; not_found says what to do.
[[nodiscard]] Result<std::filesystem::path> worker_program(Context const& context);

[[nodiscard]] Result<Controller> start_controller(Context const& context, RunFolder const& run,
                                                  LaunchOptions const& options);

/// What a controller printed before it died: the last few lines of its stderr or, if that is empty,
/// of its log or its job's output.
[[nodiscard]] std::string last_output_lines(RunFolder const& run);

}  // namespace osora::cli
