// Kernels for CPU tensors in place of a GPU's, written from the formulas with LibTorch's operators.
#pragma once

namespace osora::worker {

struct FusedKernels;

[[nodiscard]] FusedKernels const& kernels_on_cpu();

}  // namespace osora::worker
