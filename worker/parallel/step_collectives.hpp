// The collectives of training steps over the ranks that share a model, started and counted by
// class: used by both the trainer and rehearsals, so that both count alike. Each throws what the
// backend throws.
#pragma once

#include "worker/parallel/collective_timer.hpp"

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace osora::worker {

class StepCollectives {
public:
    /// `label`: prefix of the names of its classes.
    explicit StepCollectives(Group group, std::string const& label = "");

    [[nodiscard]] int ranks() const { return group_.world_size(); }
    [[nodiscard]] int rank() const { return group_.rank(); }

    /// A step begins.
    void begin();

    /// One that has been started. Tensors that it reads and writes are kept until it is done.
    struct Started {
        std::size_t kind = 0;
        c10::intrusive_ptr<c10d::Work> work;
        std::vector<at::Tensor> tensors;
    };
    /// Gradients, summed over the ranks.
    [[nodiscard]] Started all_reduce(at::Tensor const& bucket);
    /// Each rank's part of the gradients of all ranks; `bucket` divides by the ranks.
    [[nodiscard]] Started reduce_scatter(at::Tensor const& bucket);
    /// After wait(): this rank's part of the sum, in the type of `sum` (1-D), copied or added.
    static void take_sum(Started const& scattered, at::Tensor const& sum, bool add);
    /// Parameters: `own` of all ranks, concatenated, into `whole`.
    [[nodiscard]] Started all_gather(at::Tensor const& whole, at::Tensor const& own);
    /// For clipping gradients: a few numbers, summed.
    [[nodiscard]] Started sum_norms(at::Tensor const& numbers);
    /// Until it is done (on a GPU: for what this thread queues from now on).
    void wait(Started& started);
    /// Waits for all ranks.
    void barrier();

    /// What this rank has waited for in this step so far, s.
    [[nodiscard]] double waited_s() const;
    /// Costs of this step, when all are done; classes without a call are omitted. `exposed_s`:
    /// total waiting time of the rank, if the device knows better than waited_s(): gradients get
    /// the difference.
    [[nodiscard]] std::vector<protocol::CollectiveCost> costs(double exposed_s) const;

private:
    struct Class {
        CollectiveTimer timer;
        std::size_t calls = 0;
        double waited_s = 0;
    };
    [[nodiscard]] Started note(std::size_t kind, CollectiveTimer::Clock::time_point start,
                               c10::intrusive_ptr<c10d::Work> work, std::size_t bytes,
                               std::vector<at::Tensor> tensors);

    Group group_;
    std::vector<Class> classes_;
};

}  // namespace osora::worker
