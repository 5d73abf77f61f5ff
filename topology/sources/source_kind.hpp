// Which of the formats a text is, by its content: files are called as their owners like. Pure.
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <string_view>

namespace osora::topology {

enum class SourceKind { nccl_xml, json, ibnetdiscover, slurm, yaml, unknown };

[[nodiscard]] SourceKind source_kind(std::string_view text);

/// A text of any kind but JSON (that is protocol/'s). `name`: of the machine, if it is one.
/// invalid_input says why, or which kinds there are.
[[nodiscard]] Result<ClusterTopology> parse_topology_text(std::string_view text,
                                                          std::string const& name);

}  // namespace osora::topology
