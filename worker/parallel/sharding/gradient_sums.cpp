#include "worker/parallel/sharding/gradient_sums.hpp"

#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <c10/core/ScalarType.h>

namespace osora::worker {

// LibTorch's AccumulateGrad (2.11) adds in place, `grad += new_grad`, whatever the types: no copy
// of the new gradient in fp32 is kept, and hooks after it see the sum.
void sum_in_fp32(at::Tensor const& parameter) {
    if (!at::isReducedFloatingType(parameter.scalar_type())) return;
    at::NoGradGuard const no_grad;
    at::Tensor& sum = parameter.mutable_grad();
    if (!sum.defined())
        sum = at::zeros_like(parameter, at::TensorOptions(at::kFloat));
    else if (sum.scalar_type() != at::kFloat)
        sum = sum.to(at::kFloat);
}

}  // namespace osora::worker
