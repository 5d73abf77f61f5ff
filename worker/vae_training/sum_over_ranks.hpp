// Small sums and copies over the ranks of a run, for what an objective keeps beside its weights.
// They throw what the group throws: the trainer's step boundary makes it an Error.
#pragma once

#include "worker/parallel/process_group.hpp"

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace osora::worker {

/// Each of `tensors` becomes its sum over the ranks, in one collective; all of one type.
void sum_over_ranks(std::optional<Group> const& group, std::vector<at::Tensor> const& tensors);

/// `tensor` (contiguous) becomes rank 0's.
void copy_of_rank_0(std::optional<Group> const& group, at::Tensor& tensor);

}  // namespace osora::worker
