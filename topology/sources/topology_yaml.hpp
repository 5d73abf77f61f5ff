// Slurm's topology.yaml (25.05 and later), which takes precedence over topology.conf. Pure.
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <string_view>

namespace osora::topology {

/// From a list of topologies, the one called `name`; with "" the first with cluster_default, else
/// the first: tree, block or flat. Adds a warning if there are others. A tree or block without
/// entries is an empty fabric. A ring becomes a block and a torus the list of its nodes, with a
/// warning. invalid_input names the line, or the existing topologies.
[[nodiscard]] Result<Fabric> parse_topology_yaml(std::string_view text, std::string_view name = "");

}  // namespace osora::topology
