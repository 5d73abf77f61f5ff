// Which ranks share what: the groups of a layout, by name, and the nodes that each of them reaches.
// Pure.
#pragma once

#include <boost/describe.hpp>

#include <string>
#include <vector>

namespace osora::plan {

struct LayoutPlan;

/// Groups of one kind. Ranks are in the order tp, sp, dp, pp (docs/rfc/025): those of a group are
/// `stride` apart, and node i has ranks_per_node ranks from i * ranks_per_node on.
struct RankGroups {
    std::string name;  // "tp", "sp", "dp", "pp"; "shards", "copies" of what ZeRO divides
    int size = 1, stride = 1;
    int groups = 1;   // of this kind
    int nodes = 1;    // that one of them reaches
    int at_once = 1;  // of them that share the links of a node
};
BOOST_DESCRIBE_STRUCT(RankGroups, (), (name, size, stride, groups, nodes, at_once))

/// Kinds with at least two ranks a group; empty for a single rank. `ranks_per_node` 0: all ranks
/// are on one node.
[[nodiscard]] std::vector<RankGroups> rank_map(LayoutPlan const& layout, int ranks_per_node);

/// The ranks of the group with this number, from 0 on.
[[nodiscard]] std::vector<int> ranks_of(RankGroups const& kind, int group);

}  // namespace osora::plan
