// A step of training with a RehearsedNetwork: the trainer's order, its classes for collectives, and
// no model.
#pragma once

#include "base/result.hpp"
#include "plan/rehearsal.hpp"
#include "worker/jobs/rehearse/rehearsed_network.hpp"
#include "worker/parallel/rank_groups.hpp"
#include "worker/parallel/sharding/data_parallel.hpp"
#include "worker/parallel/step_exchange.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace osora::worker {

struct RehearsedStep {
    double forward_s = 0, backward_s = 0, exposed_comm_s = 0, optimizer_s = 0;
    std::vector<protocol::CollectiveCost> collectives;  // none on one rank
};

class RehearsalStep {
public:
    /// Errors: those of RehearsedNetwork.
    [[nodiscard]] static Result<std::unique_ptr<RehearsalStep>> make(plan::WorkerJob const& job,
                                                                     RankGroups const& groups,
                                                                     OwnWork const& work = {},
                                                                     Device const& device = {});

    /// For make().
    RehearsalStep(plan::WorkerJob const& job, RankGroups const& groups, OwnWork const& work,
                  Device const& device, std::unique_ptr<RehearsedNetwork> network);

    /// Of the plan's bucket `bucket`. unreachable if a peer failed; the group is unusable after
    /// that. Calls `on_arrival` when the compute is done.
    [[nodiscard]] Result<RehearsedStep> run(std::size_t bucket, plan::BucketCompute const& compute,
                                            std::function<void()> const& on_arrival);

    /// Passes time as compute does.
    void work_for(double seconds) const;

private:
    [[nodiscard]] Result<RehearsedStep> step(std::size_t bucket, plan::BucketCompute const& compute,
                                             std::function<void()> const& on_arrival);
    [[nodiscard]] double shared_s() const;
    /// Laps of a step: own time in them, what they waited for is in `waited_s`.
    struct Laps;
    [[nodiscard]] Result<void> passes(std::size_t bucket, plan::BucketCompute const& compute,
                                      std::function<void()> const& on_arrival, Laps& laps,
                                      RehearsedStep& times);

    std::vector<int> micro_batches_;  // a step, of the plan's buckets
    OwnWork work_;
    Device device_;
    std::unique_ptr<RehearsedNetwork> network_;
    std::unique_ptr<DataParallel> ranks_;
    std::shared_ptr<PipelineRanks> stages_;               // null: one rank has all blocks
    std::shared_ptr<SequenceRanks> ranks_of_network_;     // with stages
    std::vector<std::shared_ptr<StepExchange>> sharing_;  // inside the passes
};

}  // namespace osora::worker
