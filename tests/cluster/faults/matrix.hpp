// The fault matrix as a table: what to break, how the run must end, and what its journal must
// contain.
#pragma once

#include "tests/cluster/faults/faulty_run.hpp"

#include <functional>
#include <string>
#include <vector>

namespace osora::cluster {

struct FaultRow {
    std::string name;                   // one word: part of the test's name
    std::vector<std::string> backends;  // where it applies
    bool gate = false;                  // else in the soak tier only
    FaultSpec spec;
    /// Called when every node has done 20 steps and the ranks hold; they are released after it.
    /// Empty: the spec is the fault.
    std::function<void(Bed&, FaultyRun&)> inject;
    protocol::Verdict verdict = protocol::Verdict::ok;
    int launches = 1;  // how often workers were ordered
    /// The cause that the journal must contain; empty: none.
    std::function<void(FaultyRun const&)> check;
};

/// All rows. A clock that jumps is not among them: the machines of a bed share one clock. Simulated
/// runs have such jumps (tests/sim).
[[nodiscard]] std::vector<FaultRow> fault_rows();
[[nodiscard]] std::vector<FaultRow> controller_rows();
[[nodiscard]] std::vector<FaultRow> disk_rows();

void no_node_lost(FaultyRun const& run);

}  // namespace osora::cluster
