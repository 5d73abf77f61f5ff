// The compute times of a rank in a training step, by bucket: a rehearsal of the run uses them
// instead of its model. Pure.
#pragma once

#include "db/record/run_record.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

struct BucketWork {
    std::string bucket;          // "64x64x8"
    int steps = 0;               // number of steps that count (select_steps)
    int micro_batch_size = 0;    // of the passes; 0: not known
    int recomputed_blocks = -1;  // in them; -1: not known
    double forward_s = kUnknown, backward_s = kUnknown, optimizer_s = kUnknown;
};

/// Medians over the steps of means over the ranks; only buckets with steps, forward and
/// backward; optimizer_s may be unknown. If a run changed its passes (memory ran out, or [tune]
/// progressive), of the steps with the passes of the last one. If a [[stage]] changed the batch of
/// a bucket, of the steps before it: a run's plan has the batches of its first steps.
[[nodiscard]] std::vector<BucketWork> bucket_work(StepTable const& steps);

}  // namespace osora::db::analysis
