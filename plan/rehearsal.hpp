// The compute times of a rehearsal's steps: given in the run file, else measured in an earlier
// training run, else predicted. Pure; `osora rehearse` and `osora submit` choose them, the workers
// apply them (WorkerJob).
#pragma once

#include "plan/config/run_config.hpp"
#include "plan/decision.hpp"

#include <boost/describe.hpp>

#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// Compute seconds of one rank in one step of a bucket, all micro-batches together.
struct BucketCompute {
    double forward_s = 0, backward_s = 0, optimizer_s = 0;
    std::string source;  // "run file", "run 41", "plan"

    [[nodiscard]] double total_s() const { return forward_s + backward_s + optimizer_s; }
    friend bool operator==(BucketCompute const&, BucketCompute const&) = default;
};
BOOST_DESCRIBE_STRUCT(BucketCompute, (), (forward_s, backward_s, optimizer_s, source))

/// For each bucket of the run file. `measured`: from the history, empty or one per bucket.
[[nodiscard]] std::vector<BucketCompute> rehearsal_compute(
    RunConfig const& config, PlanDecision const& plan,
    std::vector<std::optional<BucketCompute>> const& measured);

}  // namespace osora::plan
