// Follows a run until it ends: tails its journal, shows it, passes Ctrl-C on. Never waits for
// anything without a limit: a controller that is gone is noticed and said.
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
    /// The controller that this process started; nullptr: somebody else's, which is only watched
    /// (Ctrl-C leaves it running).
    Controller* controller = nullptr;
    /// The run's job on Slurm; submitted by this process, so that Ctrl-C stops the run, unless it
    /// is only watched.
    QueuedRun* job = nullptr;
    bool only_watch = false;
    /// Records of the journal that are old news: a resumed run is followed from here on.
    std::uint64_t known_records = 0;
    /// A run that is only timed is stopped behind so many steps, and that is a good end; 0: it goes
    /// on to its own.
    int enough_steps = 0;
    std::FILE* stream = stdout;
};

/// osora's exit code.
[[nodiscard]] int follow(Context const& context, RunFolder const& run,
                         FollowOptions const& options);

}  // namespace osora::cli
