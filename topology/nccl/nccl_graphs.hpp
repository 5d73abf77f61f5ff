// The channels found by NCCL's search, from a CSV: the input of `osora nccl model --graphs`.
#pragma once

#include "topology/nccl/nccl_model.hpp"

#include <string_view>
#include <vector>

namespace osora::topology {

/// Columns topo, nNodes, nRanks, cpuArch, cpuVendor, minCompCap, graph (ring, tree, nvls,
/// collnet_direct, collnet_chain), pattern, nChannels, bwIntra_GBps, bwInter_GBps, typeIntra,
/// typeInter (LOC ... SYS), sameChannels, commChannels in any order; latencyInter_us is optional.
/// One group per topology and shape, in the order of their first row. invalid_input names line and
/// column; rows of a group that contradict each other are an error, the same row again is not.
[[nodiscard]] Result<std::vector<NcclGroup>> parse_nccl_graphs(std::string_view csv);

}  // namespace osora::topology
