// Whether the ranks of a run had cores of their own. Pure. Ranks that share cores slow each other
// down, and a scaling figure from them is no statement about a network.
#pragma once

#include "db/analysis/history.hpp"

#include <string>

namespace osora::db::analysis {

struct CoreUse {
    bool known = false;   // cores and ranks of every machine
    bool shared = false;  // more threads than cores somewhere
    /// "2 ranks x (1 thread + 1 loader) on 2 cores of n0"; of the machine with least room.
    std::string text;
};

/// Ranks on a GPU count only with their loaders. Nodes of one boot id are one machine.
[[nodiscard]] CoreUse core_use(RunSummary const& run);

}  // namespace osora::db::analysis
