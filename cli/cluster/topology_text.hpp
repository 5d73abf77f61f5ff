// Topologies as text in 80 columns: the fabric as a tree, a machine with its cards and the paths
// between them, and the differences between nodes. Pure.
#pragma once

#include "topology/fabric.hpp"
#include "topology/machine_diff.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// A summary line, the fabric, and one machine of each kind (at most four kinds).
[[nodiscard]] std::string render_topology(topology::ClusterTopology const& cluster);

/// Spines, leaves, nodes; folded where many are alike.
[[nodiscard]] std::string render_fabric(topology::Fabric const& fabric);
/// Sockets, switches, GPUs, cards; links below their maximum are marked.
[[nodiscard]] std::string render_machine(topology::Machine const& machine);
/// Rows: GPUs and cards; columns: GPUs. Empty without GPUs.
[[nodiscard]] std::string render_paths(topology::Machine const& machine);

/// A line, how it differs, and the effect below it.
[[nodiscard]] std::string render_differences(std::string const& where,
                                             std::vector<topology::Difference> const& differences);

}  // namespace osora::cli
