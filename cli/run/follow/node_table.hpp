// The nodes of a run, a row each, and the rank that holds the others up: for watch and status.
// Pure.
#pragma once

#include "protocol/run_view.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct TableRoom {
    int columns = 80;
    int rows = 24;  // of all lines; nodes that have no place are summed up in the last line
};

/// A header and a line for each node that has a place, those with something to say first. Empty
/// while no node has told of a step.
[[nodiscard]] std::vector<std::string> node_lines(protocol::RunView const& view, TableRoom room);

/// "slow     rank 9 on n2 arrives 0.41 s (6 %) after the others, last in 49 of 50 steps"; when
/// ranks wait much and none is slow: that it is the transfer. Empty: nothing to say.
[[nodiscard]] std::string arrival_line(protocol::RunView const& view);

/// "n2", or "node 1" while it has no agent.
[[nodiscard]] std::string node_name(protocol::RunView const& view, int node);

}  // namespace osora::cli
