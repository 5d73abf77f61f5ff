// The leaf of a node, from the variables that Slurm gives to its processes. Pure.
#pragma once

#include <string>
#include <string_view>

namespace osora::topology {

/// SLURM_TOPOLOGY_ADDR "spine.leaf0.n3" with SLURM_TOPOLOGY_ADDR_PATTERN "switch.switch.node" ->
/// "leaf0": the last part that is not a node. Without a pattern the last part is the node. "":
/// none.
[[nodiscard]] std::string leaf_of_address(std::string_view address, std::string_view pattern);

}  // namespace osora::topology
