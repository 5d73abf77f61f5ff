// How the ranks of a run exchange gradients and parameters, from its job.
#pragma once

#include "plan/worker_job.hpp"
#include "worker/parallel/sharding/data_parallel.hpp"
#include "worker/train/precision.hpp"

namespace osora::worker {

[[nodiscard]] inline DataParallelOptions exchange_options(plan::WorkerJob const& job) {
    auto const& chosen = job.plan.chosen;
    DataParallelOptions options{
        .zero_stage = chosen.zero_stage,
        .bucket_mib = static_cast<double>(chosen.grad_bucket_mib),
        .way = reduce_way(job.config.debug.collectives, job.config.parallel.overlap)};
    // Empty in a plan of an older version.
    if (!chosen.reduce_dtype.empty()) options.reduce_type = scalar_type_of(chosen.reduce_dtype);
    return options;
}

}  // namespace osora::worker
