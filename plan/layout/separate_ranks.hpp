// Layout of jobs whose ranks share a list and nothing else: encode, score. Pure.
#pragma once

#include "plan/planner.hpp"

namespace osora::plan {

/// Cores of a node for each of its ranks, at least 1.
[[nodiscard]] int core_share(PlanRequest const& request);

/// Each rank alone, with resources.cpus_per_worker threads or core_share(). The loader is left to
/// the caller.
[[nodiscard]] LayoutPlan separate_ranks(PlanRequest const& request);

}  // namespace osora::plan
