#include "worker/vae_training/sum_over_ranks.hpp"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace osora::worker {
namespace {

bool alone(std::optional<Group> const& group) {
    return !group || group->world_size() == 1;
}

}  // namespace

void sum_over_ranks(std::optional<Group> const& group, std::vector<at::Tensor> const& tensors) {
    if (alone(group) || tensors.empty()) return;
    at::NoGradGuard const no_grad;
    std::vector<at::Tensor> flat_parts;
    for (at::Tensor const& each : tensors) flat_parts.push_back(each.flatten());
    std::vector<at::Tensor> flat{at::cat(flat_parts)};
    group->device_backend().allreduce(flat)->wait();
    std::int64_t at = 0;
    for (at::Tensor const& each : tensors) {
        each.copy_(flat[0].narrow(0, at, each.numel()).view(each.sizes()));
        at += each.numel();
    }
}

void copy_of_rank_0(std::optional<Group> const& group, at::Tensor& tensor) {
    if (alone(group)) return;
    std::vector<at::Tensor> tensors{tensor};
    group->device_backend().broadcast(tensors)->wait();
}

}  // namespace osora::worker
