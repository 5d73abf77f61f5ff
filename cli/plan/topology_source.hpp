// What a user names as a topology: a folder, a file, "synthetic:...", or nothing for this machine.
#pragma once

#include "cli/command/context.hpp"
#include "topology/fabric.hpp"

#include <string>

namespace osora::cli {

/// "": this machine, and Slurm's fabric when scontrol tells of one. A folder: a root with sys/ or
/// proc/ in it, or one that holds such roots, *.xml or *.json, one a node (also below nodes/); a
/// root's nccl_topo.xml adds its NVLinks. A file: of any kind, by its content. Errors name the
/// source; not_found and invalid_input are the user's. `topology`: which of several that Slurm or a
/// topology.yaml names; "" = its default.
[[nodiscard]] Result<topology::ClusterTopology> load_topology(Context const& context,
                                                              std::string const& source,
                                                              std::string const& topology = "");

/// One line of JSON, "osora.topology/1": what `osora topology import` writes and a SOURCE can be.
[[nodiscard]] std::string topology_json(topology::ClusterTopology const& cluster);

}  // namespace osora::cli
