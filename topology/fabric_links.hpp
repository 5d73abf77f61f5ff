// Completes a parser's list of switches: parents from children, levels from the nodes upwards;
// removes what is impossible. Pure.
#pragma once

#include "topology/fabric.hpp"

namespace osora::topology {

/// Properties in which sources differ.
struct FabricRules {
    bool nodes_may_have_several_leaves = false;  // rails: one leaf for each card of a node
};

/// Reads only name, children and nodes of `fabric.switches`; sets parents and level. Merges
/// duplicate names; removes links to missing switches, links that close a loop, and second leaves
/// of a node. Each of these adds a warning (at most 20 of a kind).
[[nodiscard]] Fabric linked_fabric(Fabric fabric, FabricRules rules = {});

}  // namespace osora::topology
