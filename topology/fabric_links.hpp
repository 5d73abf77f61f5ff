// Makes a parser's list of switches whole: parents from children, levels from the nodes upwards,
// without what cannot be. Pure.
#pragma once

#include "topology/fabric.hpp"

namespace osora::topology {

/// What sources differ in.
struct FabricRules {
    bool nodes_may_have_several_leaves = false;  // rails: a leaf for each card of a node
};

/// Of `fabric.switches` only name, children and nodes are read; parents and level are set. Names
/// that stand twice are joined; links to switches that are not there, links that close a loop, and
/// second leaves of a node are left out. Each such thing adds a warning (at most 20 of a kind).
[[nodiscard]] Fabric linked_fabric(Fabric fabric, FabricRules rules = {});

}  // namespace osora::topology
