// Evidence of clusters in good health, by kind, made by hand: what every rule must be silent about,
// and what tests then break.
#pragma once

#include "topology/doctor/evidence.hpp"

#include <string>
#include <vector>

namespace osora::tests {

/// `nodes` nodes n1, n2, ... of a kind:
/// "hgx-ib"   8 H100, 8 x 400 Gbit/s InfiniBand, NVSwitch, PCIe switches; with an NCCL log
/// "roce"     8 H100, 8 x 400 Gbit/s RoCE
/// "efa"      8 A100 of a cloud VM, 4 EFA
/// "gb200"    4 GB200 of a multi-node NVLink domain, 4 InfiniBand
/// "geforce"  8 GeForce RTX 3090 at the CPU, one 10 Gbit/s Ethernet
/// "cpu"      no GPU, one 25 Gbit/s Ethernet
[[nodiscard]] topology::doctor::Evidence cluster(std::string const& kind, int nodes);
[[nodiscard]] std::vector<std::string> const& cluster_kinds();

/// A probe of these nodes in which all pairs are alike, with storage and collectives.
[[nodiscard]] topology::ProbeResult quiet_probe(topology::doctor::Evidence const& evidence);

}  // namespace osora::tests
