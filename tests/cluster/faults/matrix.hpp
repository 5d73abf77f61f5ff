// The fault matrix as a table: what is broken, how the run must end, and what its journal must say.
#pragma once

#include "tests/cluster/faults/faulty_run.hpp"

#include <functional>
#include <string>
#include <vector>

namespace osora::cluster {

struct FaultRow {
    std::string name;                   // a word: part of the test's name
    std::vector<std::string> backends;  // where it applies
    bool gate = false;                  // else in the soak tier only
    FaultSpec spec;
    /// Called when every node has done 20 steps and the ranks hold; they are released behind it.
    /// Empty: the spec is the fault.
    std::function<void(Bed&, FaultyRun&)> inject;
    protocol::Verdict verdict = protocol::Verdict::ok;
    int launches = 1;  // how often workers were ordered
    /// What the journal must hold as the cause; empty: nothing.
    std::function<void(FaultyRun const&)> check;
};

/// All rows. A clock that jumps is none of them: the machines of a bed have one clock. Simulated
/// runs have such jumps (tests/sim).
[[nodiscard]] std::vector<FaultRow> fault_rows();
[[nodiscard]] std::vector<FaultRow> controller_rows();
[[nodiscard]] std::vector<FaultRow> disk_rows();

void no_node_lost(FaultyRun const& run);

}  // namespace osora::cluster
