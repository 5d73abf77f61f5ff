// Relative difference of tensors, as the tolerances of tests/data/parity/README.md are stated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cmath>

namespace osora::worker {

/// Norm of the difference over the norm of `expected`, in double; infinite for another shape.
inline double relative_error(at::Tensor const& actual, at::Tensor const& expected) {
    if (!actual.defined() || actual.sizes() != expected.sizes()) return INFINITY;
    at::Tensor const a = actual.detach().to(at::kDouble);
    at::Tensor const b = expected.to(at::kDouble);
    double const norm = b.norm().item<double>();
    double const difference = a.sub(b).norm().item<double>();
    return norm > 0 ? difference / norm : difference;
}

}  // namespace osora::worker
