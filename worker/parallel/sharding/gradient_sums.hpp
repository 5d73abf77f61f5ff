// Where the passes of a step add their gradients: autograd adds each to what a parameter's .grad
// holds, in that one's type. Sums in bf16 lose what is below 1/256 of them.
#pragma once

#include <ATen/core/Tensor.h>

namespace osora::worker {

/// Makes the gradients of a parameter below fp32 add up in fp32 until its .grad is dropped, from 0
/// if it has none. Nothing for one in fp32, or that has such a sum. Throws what the allocator says.
void sum_in_fp32(at::Tensor const& parameter);

}  // namespace osora::worker
