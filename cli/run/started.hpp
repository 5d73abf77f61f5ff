// Submit and resume once a run directory exists: start the controller, then follow it, or print how
// to (--detach).
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/launch.hpp"
#include "cli/run/slurm/predecessor.hpp"

#include <cstdint>
#include <cstdio>

namespace osora::cli {

struct StartOptions {
    bool json = false;
    bool attached = true;
    bool quiet = false;               // the calling command prints the result: FollowOptions::quiet
    bool resume = false;              // the run has ended and is reopened
    std::uint64_t known_records = 0;  // journal records that are not printed again
    int enough_steps = 0;             // FollowOptions::enough_steps
    Predecessor after = {};           // Slurm only
    std::FILE* stream = stdout;       // for people; JSON always goes to stdout
};

/// Returns osora's exit code.
[[nodiscard]] int start_and_follow(Context const& context, RunFolder const& run,
                                   StartOptions const& options);

}  // namespace osora::cli
