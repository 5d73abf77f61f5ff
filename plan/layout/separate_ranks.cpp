#include "plan/layout/separate_ranks.hpp"

#include <algorithm>

namespace osora::plan {

int core_share(PlanRequest const& request) {
    auto const& nodes = request.cluster.nodes;
    int const cores = nodes.empty() ? 1 : nodes.front().cores;
    return std::max(1, cores / request.config.resources.gpus_per_node);
}

LayoutPlan separate_ranks(PlanRequest const& request) {
    auto const& resources = request.config.resources;
    LayoutPlan layout;
    layout.dp_size = resources.nodes * resources.gpus_per_node;
    layout.threads_per_rank =
        resources.cpus_per_worker > 0 ? resources.cpus_per_worker : core_share(request);
    return layout;
}

}  // namespace osora::plan
