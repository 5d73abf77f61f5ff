// Slurm's own descriptions of a fabric: `scontrol show topology` and topology.conf have the same
// kind of lines. Also the address of one node that Slurm gives to its jobs. Pure.
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace osora::topology {

/// Lines of SwitchName=, BlockName=, BlockSizes= or RingName=, keys in any case, '#' comments,
/// lines continued with '\'. A ring becomes a block, with a warning. invalid_input names the line,
/// or says that there is no such line.
[[nodiscard]] Result<Fabric> parse_slurm_topology(std::string_view text, std::string source);

/// SLURM_TOPOLOGY_ADDR "s1.l2.node7" with SLURM_TOPOLOGY_ADDR_PATTERN "switch.switch.node", one
/// pair for each node of a job. "s[1-2]" = either of them; "block.node" makes blocks.
using TopologyAddress = std::pair<std::string, std::string>;
[[nodiscard]] Result<Fabric> parse_topology_addresses(std::vector<TopologyAddress> const& nodes);

}  // namespace osora::topology
