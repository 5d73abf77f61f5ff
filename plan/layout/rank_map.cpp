#include "plan/layout/rank_map.hpp"

#include "plan/decision.hpp"
#include "plan/group_network.hpp"

#include <utility>

namespace osora::plan {

std::vector<RankGroups> rank_map(LayoutPlan const& layout, int ranks_per_node) {
    std::vector<RankGroups> map;
    int stride = 1;
    for (auto const& [name, size] : {std::pair("tp", layout.tp_size),
                                     {"sp", layout.sp_size},
                                     {"dp", layout.dp_size},
                                     {"pp", layout.pp_size}}) {
        if (size > 1) {
            GroupPlace const place = group_place(size, stride, ranks_per_node);
            map.push_back({.name = name,
                           .size = size,
                           .stride = stride,
                           .groups = layout.ranks() / size,
                           .nodes = place.shape.nodes,
                           .at_once = place.at_once});
        }
        stride *= size;
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
