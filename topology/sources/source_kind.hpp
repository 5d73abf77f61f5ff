// Which of the formats a text is, by its content: files are called as their owners like. Pure.
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <string>
#include <string_view>

namespace osora::topology {

enum class SourceKind { nccl_xml, json, ibnetdiscover, slurm, yaml, unknown };

[[nodiscard]] SourceKind source_kind(std::string_view text);

/// What to read of a text.
struct ParseChoice {
    std::string machine;   // its name, if it is one
    std::string topology;  // which of a topology.yaml's; "" = its default
};

/// A text of any kind but JSON (that is protocol/'s). invalid_input says why, or which kinds there
/// are; a topology is chosen of a text that names none.
[[nodiscard]] Result<ClusterTopology> parse_topology_text(std::string_view text,
                                                          ParseChoice const& choice);

}  // namespace osora::topology
