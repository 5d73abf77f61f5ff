// What a larger or smaller global batch would cost and gain on the layout of a plan. Pure; private
// to the planner.
#pragma once

#include "plan/decision.hpp"
#include "plan/layout/batch_sizes.hpp"
#include "plan/layout/layout_search.hpp"

#include <vector>

namespace osora::plan {

/// The planned batch of the first bucket, `batches.sizes[0]`, and others a power of 2 away from it,
/// between batch.min and batch.max, ascending. For each, other buckets follow at equal cost and
/// micro-batches are chosen anew; where one does not fit, the batch is left out. Threads and
/// gradient buckets are those of `best`.
[[nodiscard]] std::vector<ExpectedBatch> batch_curve(PlanContext const& context,
                                                     GlobalBatches const& batches,
                                                     Candidate const& best);

}  // namespace osora::plan
