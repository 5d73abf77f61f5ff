// What submit and resume do once a run directory is there: start the controller, then follow it, or
// say how to (--detach).
#pragma once

#include "cli/context.hpp"
#include "cli/launch.hpp"

namespace osora::cli {

struct StartOptions {
    bool json = false;
    bool attached = true;
    bool resume = false;
};

/// osora's exit code.
[[nodiscard]] int start_and_follow(Context const& context, RunFolder const& run,
                                   StartOptions const& options);

}  // namespace osora::cli
