// The search: threads, gradient bucket and micro-batches that fit, with the shortest predicted step
// time. Pure; private to the planner.
#pragma once

#include "base/result.hpp"
#include "plan/layout/rank_balance.hpp"
#include "plan/memory.hpp"
#include "plan/plan_context.hpp"
#include "plan/step_time.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

struct BucketChoice {
    int micro_batch_size = 1;
    int grad_accum_steps = 1;
    StepTime time;  // without the loader
    RankMemory memory;
};
struct Candidate {
    int threads = 1;
    int grad_bucket_mib = 25;
    std::vector<BucketChoice> buckets;
    double step_time_s = 0;  // mean over the steps of one pass over the data
};

/// Share of the steps of each bucket: clips / batch, summing to 1.
[[nodiscard]] std::vector<double> step_shares(PlanContext const& context,
                                              std::vector<std::int64_t> const& globals);

/// Of the work of the ranks that train side by side, without collectives; `times` of each bucket.
/// By debug.bucket_schedule: all of them train one bucket in a step, or each draws its own.
[[nodiscard]] RankBalance rank_balance(PlanContext const& context,
                                       std::vector<double> const& shares,
                                       std::vector<StepTime> const& times);

/// Bytes that the tensors of one rank may take where its model is; nullopt: unknown.
[[nodiscard]] std::optional<std::int64_t> rank_limit_bytes(
    PlanContext const& context, std::vector<std::int64_t> const& globals);
/// The smallest loader of a rank: without threads.
[[nodiscard]] LoaderSizes smallest_loader(PlanContext const& context,
                                          std::vector<std::int64_t> const& globals);

/// `accumulates`: a step has several such micro-batches. `grad_bucket_mib`: where the run file
/// leaves it open; smaller ones than the usual 25 count as that.
[[nodiscard]] RankMemory micro_batch_memory(PlanContext const& context, std::size_t bucket,
                                            std::int64_t micro_batch_size, bool accumulates,
                                            int grad_bucket_mib = 0);
/// "bucket 64 x 8: micro-batch 64 needs 9.10 GiB a rank (8.80 GiB of it activations), ..."
[[nodiscard]] std::string micro_batch_too_large(PlanContext const& context, std::size_t bucket,
                                                std::int64_t micro_batch_size,
                                                RankMemory const& memory, std::int64_t limit_bytes);

/// The query of a bucket at these sizes, without a loader.
[[nodiscard]] StepQuery step_query(PlanContext const& context, std::size_t bucket, int threads);

/// The divisor of `local_samples` that a rank processes at once: of those that fit, the smallest
/// that is at most 2 % slower than the fastest. out_of_memory when not even one sample fits.
[[nodiscard]] Result<BucketChoice> choose_micro_batch(PlanContext const& context,
                                                      std::size_t bucket, StepQuery query,
                                                      std::int64_t local_samples,
                                                      std::optional<std::int64_t> limit_bytes);

/// One candidate per thread count, best first; the first is the plan.
[[nodiscard]] Result<std::vector<Candidate>> search_layouts(
    PlanContext const& context, std::vector<std::int64_t> const& globals);

/// Thread counts for a CPU rank: the user's, or 1 .. cores / ranks.
[[nodiscard]] std::vector<int> thread_counts(PlanContext const& context);

}  // namespace osora::plan
