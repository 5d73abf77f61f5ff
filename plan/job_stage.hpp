// The [[stage]] of a run that a step belongs to. Pure; the worker uses it at its start and when a
// stage ends.
#pragma once

#include "plan/worker_job.hpp"

#include <cstddef>

namespace osora::plan {

/// Steps [first, last).
struct StepSpan {
    int first = 0, last = 0;
    friend bool operator==(StepSpan const&, StepSpan const&) = default;
};

struct StageOfStep {
    std::size_t index = 0;  // 0: before the first [[stage]]
    StepSpan steps;
    StepSpan rate;  // steps over which the learning rate warms up and decays
};

[[nodiscard]] StageOfStep stage_at(WorkerJob const& job, int step);

/// The job with configuration and plan of that stage, without stages.
[[nodiscard]] WorkerJob job_of_stage(WorkerJob const& job, std::size_t index);

}  // namespace osora::plan
