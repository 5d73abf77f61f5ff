// The differences between two descriptions of one fabric, node by node. Pure.
#pragma once

#include "topology/fabric.hpp"
#include "topology/machine_diff.hpp"

#include <vector>

namespace osora::topology {

/// Nodes that are below another leaf ("node.n3.leaf"), and those that only one side has. A side
/// without switches is unknown, not different.
[[nodiscard]] std::vector<Difference> diff_fabrics(Fabric const& reference, Fabric const& other);

}  // namespace osora::topology
