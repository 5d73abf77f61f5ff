// Follows a run until it ends: reads its journal, shows it, passes Ctrl-C on. Every wait has a
// limit: a controller that is gone is noticed and reported.
#pragma once

#include "cli/command/context.hpp"
#include "cli/run/launch.hpp"
#include "cli/run/runs.hpp"
#include "cli/run/slurm/queued_run.hpp"

#include <cstdio>

namespace osora::cli {

struct FollowOptions {
    bool json = false;
    bool nodes = false;  // on a terminal: a table of the nodes
    bool quiet = false;  // quiet_output() on stderr
    /// The controller that this process started; nullptr: another process started it, and this one
    /// only watches (Ctrl-C leaves it running).
    Controller* controller = nullptr;
    /// The run's job on Slurm. If this process submitted it, Ctrl-C stops the run; else it is only
    /// watched.
    QueuedRun* job = nullptr;
    bool only_watch = false;
    /// The run is over in its journal, and `job` continues it.
    bool between_jobs = false;
    /// Journal records that are already known: a resumed run is followed from here on.
    std::uint64_t known_records = 0;
    /// Stops the run after this many steps, as a success (for trials); 0: runs to its end.
    int enough_steps = 0;
    std::FILE* stream = stdout;
};

/// Returns osora's exit code.
[[nodiscard]] int follow(Context const& context, RunFolder const& run,
                         FollowOptions const& options);

}  // namespace osora::cli
