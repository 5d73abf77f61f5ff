// Processes that are left of a stopped run: as its agents counted them, and as this machine shows
// now.
#pragma once

#include "protocol/run_view.hpp"

#include <string>

namespace osora::cli {

struct Orphans {
    int processes = 0;
    int nodes = 0;      // as counted by agents
    int uncounted = 0;  // nodes whose agent was lost
};

/// From the journal, and from /proc of this machine.
[[nodiscard]] Orphans orphans_of(protocol::RunView const& view);

/// "0 processes left on 4 nodes", "... (node 3 could not be counted)".
[[nodiscard]] std::string orphans_text(Orphans const& left);

/// Ends the run's processes on this machine: SIGTERM, then SIGKILL after `grace_s`. Returns their
/// number.
int end_processes(std::string const& run_uuid, double grace_s);

}  // namespace osora::cli
