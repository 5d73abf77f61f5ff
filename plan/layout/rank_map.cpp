#include "plan/layout/rank_map.hpp"

#include "plan/decision.hpp"
#include "plan/network/group_network.hpp"

#include <utility>

namespace osora::plan {

std::vector<RankGroups> rank_map(LayoutPlan const& layout, int ranks_per_node) {
    std::vector<RankGroups> map;
    auto const add = [&](char const* name, int size, int stride) {
        if (size < 2) return;
        GroupPlace const place = group_place(size, stride, ranks_per_node);
        map.push_back({.name = name,
                       .size = size,
                       .stride = stride,
                       .groups = layout.ranks() / size,
                       .nodes = place.shape.nodes,
                       .at_once = place.at_once});
    };
    int stride = 1;
    for (auto const& [name, size] : {std::pair("tp", layout.tp_size),
                                     {"sp", layout.sp_size},
                                     {"dp", layout.dp_size},
                                     {"pp", layout.pp_size}}) {
        add(name, size, stride);
        stride *= size;
    }
    if (layout.shard_size > 0) {
        add("shards", layout.shard_size, 1);
        add("copies", layout.ranks() / layout.shard_size, layout.shard_size);
    }
    return map;
}

std::vector<int> ranks_of(RankGroups const& kind, int group) {
    // Groups that begin next to each other come first.
    int const first = group / kind.stride * kind.stride * kind.size + group % kind.stride;
    std::vector<int> ranks;
    for (int i = 0; i < kind.size; ++i) ranks.push_back(first + i * kind.stride);
    return ranks;
}

}  // namespace osora::plan
