// The network interface over which the ranks of each node should connect: on the fastest network
// common to all nodes, as the probe measured it, else by the cards' rates. Pure.
#pragma once

#include "topology/machine.hpp"
#include "topology/probe_result.hpp"

#include <span>
#include <string>
#include <vector>

namespace osora::plan {

struct NodeInterface {
    std::string node, interface;
    double gbit_s = 0;      // measured, else of the card; 0 = unknown
    bool measured = false;  // by the probe, on this node and interface
    std::string others;     // other interfaces of the node: "eth1 0.94 Gbit/s"; "" = none
};

struct InterfaceChoice {
    std::vector<NodeInterface> nodes;  // in the order of the machines; none for a node without one
    std::vector<std::string> equals;   // names, if further networks are as fast as the chosen one
    std::vector<std::string> warnings;
};

/// Ignores interfaces that are down, have no address while others have one, or belong to
/// containers, bridges and tunnels. A node whose card in the common network was measured far slower
/// than another of its cards gets that other card: a measured interface is known to be reachable.
[[nodiscard]] InterfaceChoice choose_interfaces(std::span<topology::Machine const> machines,
                                                topology::ProbeResult const* probe);

}  // namespace osora::plan
