// Starting a run's controller: a child that is held on a lifeline (attached), or a session of its
// own
// (--detach).
#pragma once

#include "base/process/process.hpp"
#include "cli/command/context.hpp"
#include "cli/run/runs.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace osora::cli {

/// A controller that this process started. When the lifeline is closed the controller takes it as a
/// wish to stop.
struct Controller {
    Child child;
    Descriptor lifeline;  // closed and unset when detached
};

struct LaunchOptions {
    bool attached = true;
    bool resume = false;  // open a run again that has ended
};

/// osorad, which stands beside osora; not_found when it does not.
[[nodiscard]] Result<std::filesystem::path> controller_program(Context const& context);
/// $OSORA_WORKER, else osora-worker beside osora; not_found says what to do.
[[nodiscard]] Result<std::filesystem::path> worker_program(Context const& context);

[[nodiscard]] Result<Controller> start_controller(Context const& context, RunFolder const& run,
                                                  LaunchOptions const& options);

/// What a controller printed before it died, for whoever asks why: the last few lines of its
/// stderr and, when that is empty, of its log, or of its job's.
[[nodiscard]] std::string last_output_lines(RunFolder const& run);

}  // namespace osora::cli
