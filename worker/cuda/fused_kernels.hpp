// The kernels of worker/cuda/kernels for tensors, on the current stream of their device.
#pragma once

namespace osora::worker {

struct FusedKernels;

[[nodiscard]] FusedKernels const& fused_cuda_kernels();

}  // namespace osora::worker
