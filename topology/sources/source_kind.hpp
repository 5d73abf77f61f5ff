// The format of a text, recognised by its content, because files can have any name. Pure.
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <string>
#include <string_view>

namespace osora::topology {

enum class SourceKind { nccl_xml, json, ibnetdiscover, slurm, yaml, unknown };

[[nodiscard]] SourceKind source_kind(std::string_view text);

/// Which part of a text to read.
struct ParseChoice {
    std::string machine;   // its name, if it is one
    std::string topology;  // which of a topology.yaml's; "" = its default
};

/// Reads a text of any kind except JSON (see protocol/). invalid_input: why, or the list of kinds;
/// a topology was selected in a text that names none.
[[nodiscard]] Result<ClusterTopology> parse_topology_text(std::string_view text,
                                                          ParseChoice const& choice);

}  // namespace osora::topology
