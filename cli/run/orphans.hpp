// What is left of a run that was stopped: as its agents counted, and as this machine is found now.
#pragma once

#include "protocol/run_view.hpp"

#include <string>

namespace osora::cli {

struct Orphans {
    int processes = 0;
    int nodes = 0;      // that were counted
    int uncounted = 0;  // whose agent was lost
};

/// From the journal, and /proc of this machine.
[[nodiscard]] Orphans orphans_of(protocol::RunView const& view);

/// "0 processes left on 4 nodes", "... (node 3 could not be counted)".
[[nodiscard]] std::string orphans_text(Orphans const& left);

/// Ends the processes of the run on this machine: SIGTERM, and SIGKILL after `grace_s`. Returns how
/// many there were.
int end_processes(std::string const& run_uuid, double grace_s);

}  // namespace osora::cli
