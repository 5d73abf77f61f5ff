// The topologies that a user can name: a folder, a file, "synthetic:...", or "" for this machine.
#pragma once

#include "cli/command/context.hpp"
#include "topology/fabric.hpp"
#include "topology/machine.hpp"

#include <optional>
#include <string>

namespace osora::cli {

/// "": this machine, and Slurm's fabric if scontrol reports one. A folder: a root with sys/ or
/// proc/ in it, or a folder with such roots, *.xml or *.json, one per node (also below nodes/); a
/// root's nccl_topo.xml adds its NVLinks. A file: any kind, recognised by its content. Errors name
/// the source; not_found and invalid_input are the user's. `topology`: one of several that Slurm or
/// a topology.yaml names; "" = its default.
[[nodiscard]] Result<topology::ClusterTopology> load_topology(Context const& context,
                                                              std::string const& source,
                                                              std::string const& topology = "");

/// This machine with what its drivers report, as `osorad facts` prints it: osorad links the
/// drivers' libraries and may hang in one. Nothing if that fails or takes 10 s.
[[nodiscard]] std::optional<topology::Machine> machine_of_osorad(Context const& context);

/// One line of JSON, "osora.topology/1": written by `osora topology import`, and accepted as a
/// SOURCE.
[[nodiscard]] std::string topology_json(topology::ClusterTopology const& cluster);

}  // namespace osora::cli
