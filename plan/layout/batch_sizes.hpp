// Global batch sizes of the buckets at equal cost, the same for 1, 2 and 4 ranks. Pure.
//
// Rounding rule: the batch of every bucket is a multiple of 4 on 1, 2 and 4 ranks, of dp_size on
// other counts, times the bucket's micro_batch_size if that is set. So one run file trains the same
// batches on 1, 2 and 4 ranks, and its runs can be compared. A global_batch_size set by the user is
// kept for the first bucket.
#pragma once

#include "plan/plan_context.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

/// The largest rank count that trains the same batches by the rounding rule: 4, or dp_size.
[[nodiscard]] int comparable_ranks(int dp_size);

/// The unit of a bucket's batch. `micro_batch_size` 0: not set.
[[nodiscard]] std::int64_t batch_unit(int dp_size, int micro_batch_size);

/// Batches with the cost of `first` samples of bucket 0, each rounded to its nearest unit, at least
/// one; if the micro-batch is open, to a number of units within 4 % that divides well.
[[nodiscard]] std::vector<std::int64_t> equal_cost_globals(PlanContext const& context,
                                                           std::int64_t first);

struct GlobalBatches {
    std::vector<std::int64_t> sizes;  // of each bucket
    std::string reason;
};
/// The user's batch, the one fixed earlier (rounded up), or the smallest whose exposed
/// communication is below batch.exposed_comm_target on comparable_ranks(), within batch.min and
/// batch.max.
[[nodiscard]] GlobalBatches choose_global_batches(PlanContext const& context);

}  // namespace osora::plan
