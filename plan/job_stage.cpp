#include "plan/job_stage.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace osora::plan {

StageOfStep stage_at(WorkerJob const& job, int step) {
    StageOfStep found;
    found.steps.last = found.rate.last = job.config.train.steps;
    for (std::size_t i = 0; i < job.stages.size(); ++i) {
        JobStage const& stage = job.stages[i];
        if (stage.at_step > step) {
            found.steps.last = std::min(found.steps.last, stage.at_step);
            if (stage.new_rate) found.rate.last = std::min(found.rate.last, stage.at_step);
            continue;
        }
        found.index = i + 1;
        found.steps.first = stage.at_step;
        if (stage.new_rate) found.rate.first = stage.at_step;
    }
    return found;
}

WorkerJob job_of_stage(WorkerJob const& job, std::size_t index) {
    WorkerJob staged = job;
    staged.stages.clear();
    staged.plan.stages.clear();
    if (index == 0) return staged;
    OSORA_CHECK_EQ(job.stages.size(), job.plan.stages.size());
    staged.config = job.stages[index - 1].config;
    staged.plan.chosen = job.plan.stages[index - 1].chosen;
    staged.plan.predicted = job.plan.stages[index - 1].predicted;
    return staged;
}

}  // namespace osora::plan
