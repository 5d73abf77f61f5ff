// Executes a RehearsalPlan on this rank: gradients are zeros, compute is a busy loop on the rank's
// cores (CPU) or a sleep (GPU) until the planned time.
#pragma once

#include "base/result.hpp"
#include "worker/jobs/rehearse/rehearsal_plan.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/step_collectives.hpp"

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <vector>

namespace osora::worker {

struct RehearsedStep {
    double forward_s = 0, backward_s = 0, exposed_comm_s = 0, optimizer_s = 0;
    std::vector<protocol::CollectiveCost> collectives;  // of gradients; none on one rank
};

class RehearsalStep {
public:
    /// `threads`: number that the compute keeps busy; 0: it sleeps, as a GPU's leaves the CPU
    /// idle.
    RehearsalStep(RehearsalPlan plan, std::optional<Group> group, Device const& device,
                  int threads);

    /// unreachable if a peer failed; the group is unusable after that. Calls `on_arrival` when the
    /// compute is done.
    [[nodiscard]] Result<RehearsedStep> run(plan::BucketCompute const& compute,
                                            int grad_accum_steps,
                                            std::function<void()> const& on_arrival);

    /// Passes time as compute does.
    void work_for(double seconds) const;

private:
    struct Player;

    RehearsalPlan plan_;
    std::optional<StepCollectives> collectives_;  // nullopt: one rank
    Device device_;
    int threads_;
    std::vector<at::Tensor> buckets_;
};

}  // namespace osora::worker
