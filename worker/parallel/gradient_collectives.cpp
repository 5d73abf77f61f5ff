#include "worker/parallel/gradient_collectives.hpp"

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include <utility>

namespace osora::worker {

using Clock = CollectiveTimer::Clock;

GradientCollectives::GradientCollectives(Group group)
    : group_(std::move(group)),
      all_reduces_("gradients all_reduce", "all_reduce", group_.device_backend()),
      barriers_("gradients barrier", "barrier", group_.device_backend()) {}

void GradientCollectives::begin() {
    all_reduces_.begin();
    barriers_.begin();
    in_barriers_s_ = 0;
    any_barrier_ = false;
}

c10::intrusive_ptr<c10d::Work> GradientCollectives::all_reduce(at::Tensor const& bucket) {
    std::vector<at::Tensor> tensors{bucket};
    auto const start = Clock::now();
    auto work = group_.device_backend().allreduce(tensors);
    all_reduces_.started(start, work, static_cast<std::int64_t>(bucket.nbytes()));
    return work;
}

void GradientCollectives::barrier() {
    auto const start = Clock::now();
    auto const work = group_.device_backend().barrier();
    barriers_.started(start, work, 0);
    work->wait();
    in_barriers_s_ += std::chrono::duration<double>(Clock::now() - start).count();
    any_barrier_ = true;
}

std::vector<protocol::CollectiveCost> GradientCollectives::costs(double exposed_s) const {
    std::vector<protocol::CollectiveCost> costs{all_reduces_.cost(exposed_s - in_barriers_s_)};
    if (any_barrier_) costs.push_back(barriers_.cost(in_barriers_s_));
    return costs;
}

}  // namespace osora::worker
