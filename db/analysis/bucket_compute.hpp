// The compute times of a rank in a training step, by bucket: a rehearsal of the run uses them
// instead of its model. Pure.
#pragma once

#include "db/record/run_record.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

struct BucketWork {
    std::string bucket;  // "64x64x8"
    int steps = 0;       // number of steps that count (select_steps)
    double forward_s = kUnknown, backward_s = kUnknown, optimizer_s = kUnknown;
};

/// Medians over the steps of means over the ranks; only buckets with steps, forward and
/// backward; optimizer_s may be unknown.
[[nodiscard]] std::vector<BucketWork> bucket_work(StepTable const& steps);

}  // namespace osora::db::analysis
