// Memory of a tensor that comes and goes while the tensor and its views stay the same objects.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace osora::worker {

/// Gives the tensor's storage new, uninitialised memory; with 0 bytes none, until it is asked for
/// again. Views keep the storage and find the new memory through it. Throws what the allocator
/// throws.
void set_storage_bytes(at::Tensor const& tensor, std::size_t bytes);

/// Has the tensor's storage use `memory`, which stays its owner's, for all of the tensor's items;
/// null: none.
void lend_storage(at::Tensor const& tensor, void* memory);

/// Whether its items may be read and written.
[[nodiscard]] bool has_memory(at::Tensor const& tensor);

}  // namespace osora::worker
