// The collectives that reduce gradients, started and counted: the trainer's reducer and a rehearsal
// ask for theirs here, so that both count alike.
#pragma once

#include "worker/parallel/collective_timer.hpp"

#include <ATen/core/Tensor.h>

#include <vector>

namespace osora::worker {

class GradientCollectives {
public:
    explicit GradientCollectives(Group group);

    /// A step begins.
    void begin();
    /// Starts one. Throws what the backend throws.
    [[nodiscard]] c10::intrusive_ptr<c10d::Work> all_reduce(at::Tensor const& bucket);
    /// Waits for all ranks. Throws what the backend throws.
    void barrier();

    /// Of this step, when all are done; `exposed_s`: what the rank waited for all of them.
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs(double exposed_s) const;

private:
    Group group_;
    CollectiveTimer all_reduces_, barriers_;
    double in_barriers_s_ = 0;
    bool any_barrier_ = false;
};

}  // namespace osora::worker
