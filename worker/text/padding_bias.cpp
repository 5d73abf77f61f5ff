#include "worker/text/padding_bias.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include <limits>

namespace osora::worker {

double lowest_score(at::ScalarType dtype) {
    if (dtype == at::kBFloat16) {
        return static_cast<double>(std::numeric_limits<at::BFloat16>::lowest());
    }
    if (dtype == at::kHalf) return static_cast<double>(std::numeric_limits<at::Half>::lowest());
    return static_cast<double>(std::numeric_limits<float>::lowest());
}

at::Tensor padding_bias(at::Tensor const& mask, at::TensorOptions const& options) {
    at::Tensor const bias = at::zeros(mask.sizes(), options);
    double const lowest = lowest_score(bias.scalar_type());
    return bias.masked_fill(mask.to(bias.device()) == 0, lowest).unsqueeze(1).unsqueeze(1);
}

}  // namespace osora::worker
