#include "worker/memory/upload.hpp"

#include <cstddef>

namespace osora::worker {

at::Tensor uploaded(at::Tensor const& tensor, at::Device device) {
    constexpr std::size_t kPinnedMost = std::size_t{64} << 20;
    bool const queues = device.is_cuda() && tensor.is_cpu() && tensor.nbytes() <= kPinnedMost;
    if (!queues) return tensor.to(device);
    // The allocator of pinned memory reuses the copy when the device has read it.
    return tensor.pin_memory().to(device, /*non_blocking=*/true);
}

}  // namespace osora::worker
