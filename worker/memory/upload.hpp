// Tensors of the host on the way to a rank's device.
#pragma once

#include <ATen/core/Tensor.h>

namespace osora::worker {

/// The tensor on the device; itself if it is there. A copy to a GPU from memory that is not pinned
/// first waits for all that the GPU has to do, so up to 64 MiB go through pinned memory and are
/// queued; what is larger would pin too much of the host.
[[nodiscard]] at::Tensor uploaded(at::Tensor const& tensor, at::Device device);

}  // namespace osora::worker
