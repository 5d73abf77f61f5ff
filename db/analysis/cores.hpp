// Whether the ranks of a run had separate cores. Pure. Ranks that share cores slow each other down,
// so a scaling figure from them says nothing about a network.
#pragma once

#include "db/analysis/history.hpp"

#include <string>

namespace osora::db::analysis {

struct CoreUse {
    bool known = false;   // cores and ranks of every machine
    bool shared = false;  // more threads than cores somewhere
    /// "2 ranks x (1 thread + 1 loader) on 2 cores of n0"; for the machine with the fewest cores
    /// per thread.
    std::string text;
};

/// A rank on a GPU counts only its loaders. Nodes with the same boot id are one machine.
[[nodiscard]] CoreUse core_use(RunSummary const& run);

}  // namespace osora::db::analysis
