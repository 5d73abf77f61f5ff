// Reports passes that did not fit into memory: a report of this rank, a notice if the run
// continues, the final error if it does not. Driven by the training loop.
#pragma once

#include "plan/worker_job.hpp"
#include "worker/jobs/agent_link.hpp"
#include "worker/jobs/memory_report.hpp"
#include "worker/jobs/step_source.hpp"
#include "worker/parallel/device.hpp"
#include "worker/train/memory_guard.hpp"

#include <string>

namespace osora::worker {

class ShortageReporter {
public:
    ShortageReporter(plan::WorkerJob const& job, int rank, Device device, AgentLink& agent)
        : job_(job), rank_(rank), device_(device), agent_(agent) {}

    /// Another rank's shortage is reported by that rank.
    void report(StepBatch const& batch, MemoryShortage const& shortage);
    /// `error`: out_of_memory, of a step on `batch`; with bucket, prediction and what would help.
    [[nodiscard]] Error end(StepBatch const& batch, Error const& error) const;

private:
    [[nodiscard]] MemoryReport report_of(StepBatch const& batch,
                                         MemoryShortage const& shortage) const;

    plan::WorkerJob const& job_;
    int rank_;
    Device device_;
    AgentLink& agent_;
    MemoryShortage last_;
    std::string last_report_;  // "; the plan said 12.0 GiB, ...; FILE"; empty: another rank's
    bool recomputes_ = false;  // all activations, since a pass did not fit
};

}  // namespace osora::worker
