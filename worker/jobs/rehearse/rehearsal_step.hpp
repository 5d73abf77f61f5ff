// A step of training with a RehearsedNetwork: the trainer's order, its classes for collectives, and
// no model.
#pragma once

#include "base/result.hpp"
#include "plan/rehearsal.hpp"
#include "worker/jobs/rehearse/rehearsed_network.hpp"
#include "worker/parallel/rank_groups.hpp"
#include "worker/parallel/sharding/data_parallel.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace osora::worker {

struct RehearsedStep {
    double forward_s = 0, backward_s = 0, exposed_comm_s = 0, optimizer_s = 0;
    std::vector<protocol::CollectiveCost> collectives;  // of gradients; none on one rank
};

struct RehearsalOptions {
    DataParallelOptions ranks = {};
    at::ScalarType type = at::kFloat;  // of weights
    OwnWork work = {};
    Device device = {};
};

class RehearsalStep {
public:
    /// `trained`: see RehearsedNetwork.
    RehearsalStep(Parameters const& trained, RankGroups const& groups,
                  RehearsalOptions const& options);

    /// unreachable if a peer failed; the group is unusable after that. Calls `on_arrival` when the
    /// compute is done.
    [[nodiscard]] Result<RehearsedStep> run(plan::BucketCompute const& compute,
                                            int grad_accum_steps,
                                            std::function<void()> const& on_arrival);

    /// Passes time as compute does.
    void work_for(double seconds) const;

private:
    [[nodiscard]] Result<RehearsedStep> step(plan::BucketCompute const& compute,
                                             int grad_accum_steps,
                                             std::function<void()> const& on_arrival);

    RehearsalOptions options_;
    std::unique_ptr<RehearsedNetwork> network_;
    std::unique_ptr<DataParallel> ranks_;
};

}  // namespace osora::worker
