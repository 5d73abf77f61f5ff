// The nodes of a run, one row each, and the rank that delays the others: for watch and status.
// Pure.
#pragma once

#include "protocol/run_view.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct TableRoom {
    int columns = 80;
    int rows = 24;  // of all lines; nodes that do not fit are summed up in the last line
};

/// A header and a line for each node that fits, nodes with a note first. Empty until a node has
/// reported a step.
[[nodiscard]] std::vector<std::string> node_lines(protocol::RunView const& view, TableRoom room);

/// "slow     rank 9 on n2 arrives 0.41 s (6 %) after the others, last in 49 of 50 steps"; when
/// ranks wait much and none is slow: that the transfer takes the time. Empty: nothing to report.
[[nodiscard]] std::string arrival_line(protocol::RunView const& view);

/// "n2", or "node 1" until its agent has joined.
[[nodiscard]] std::string node_name(protocol::RunView const& view, int node);

}  // namespace osora::cli
