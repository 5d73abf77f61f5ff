// An InfiniBand fabric from the output of `ibnetdiscover`: switches, host adapters, links. Pure.
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <optional>
#include <string_view>

namespace osora::topology {

/// Levels are counted from the hosts upwards: a switch with hosts is a leaf (one with a single
/// manager host above full leaves is not). A host is the first word of its adapter's description
/// ("n7 mlx5_0"), or its id ("H-0002c903...") if that is the adapter's model; adapters with the
/// same description are distinguished by GUID. It is below a leaf for each of its cards. A switch
/// is named by its description ("MF0;leaf1:MQM8700/U1": leaf1), or by its GUID if two would have
/// one name. Warnings: links slower than most of their kind, links whose ends report different
/// rates. invalid_input: no switch, or a line of a section that cannot be read, with its number.
[[nodiscard]] Result<Fabric> parse_ibnetdiscover(std::string_view text);

/// "4xHDR" -> 200 Gbit/s; nullopt: not a width and speed.
[[nodiscard]] std::optional<double> infiniband_gbit(std::string_view text);

}  // namespace osora::topology
