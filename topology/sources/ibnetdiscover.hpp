// An InfiniBand fabric from the text that `ibnetdiscover` prints: switches, host adapters, links.
// Pure.
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <optional>
#include <string_view>

namespace osora::topology {

/// Levels come from the hosts upwards: a switch with hosts is a leaf (one with a single manager
/// host above full leaves is not). A host is the first word of its adapter's description ("n7
/// mlx5_0"), and its id ("H-0002c903...") where that is the adapter's model; adapters that are
/// described alike are told apart by GUID. It is below a leaf for each of its cards. A switch is
/// called as its description says ("MF0;leaf1:MQM8700/U1": leaf1), or by its GUID where two would
/// have one name. Warnings: links that are slower than most of their kind, links whose ends tell
/// different rates. invalid_input: no switch, or a line of a section that cannot be read, with its
/// number.
[[nodiscard]] Result<Fabric> parse_ibnetdiscover(std::string_view text);

/// "4xHDR" -> 200 Gbit/s; nullopt: not a width and speed.
[[nodiscard]] std::optional<double> infiniband_gbit(std::string_view text);

}  // namespace osora::topology
