// Which network interface the ranks of each node should meet over: the fastest network that all
// nodes are in, as the probe measured it, else as the cards say. Pure.
#pragma once

#include "topology/machine.hpp"
#include "topology/probe_result.hpp"

#include <span>
#include <string>
#include <vector>

namespace osora::plan {

struct NodeInterface {
    std::string node, interface;
    double gbit_s = 0;      // measured, else of the card; 0 = not known
    bool measured = false;  // by the probe, on this node and interface
    std::string others;     // what else the node has: "eth1 0.94 Gbit/s"; "" = nothing
};

struct InterfaceChoice {
    std::vector<NodeInterface> nodes;  // in the order of the machines; none for one that has none
    std::vector<std::string> equals;   // names, when further networks are as fast as the chosen
    std::vector<std::string> warnings;
};

/// Interfaces that are down, have no address where others have one, or belong to containers,
/// bridges and tunnels do not count. A node whose card of the common network is measured far slower
/// than another of its cards gets that one: what was measured can be reached.
[[nodiscard]] InterfaceChoice choose_interfaces(std::span<topology::Machine const> machines,
                                                topology::ProbeResult const* probe);

}  // namespace osora::plan
