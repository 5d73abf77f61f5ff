// Copies the parameters of a block from host memory to where they are used, while the caller goes
// on: on a GPU on a stream of its own, on the CPU on a thread, as a GPU's copy engine would.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

namespace osora::worker {

/// At most one copy is on the way at a time.
class BlockCopier {
public:
    virtual ~BlockCopier() = default;
    /// Begins to copy `from` to the first bytes of `to`, on a GPU once all that the calling thread
    /// has queued is done with `to`. Both are flat bytes and must outlive the copy.
    virtual void start(at::Tensor const& to, at::Tensor const& from) = 0;
    /// What the calling thread computes from now on reads what was copied. Nothing if nothing is on
    /// the way.
    virtual void finish() = 0;
};

[[nodiscard]] std::unique_ptr<BlockCopier> make_block_copier(c10::Device to);

/// Uninitialised host memory of this many bytes, from which `to` can be copied to at full speed
/// (pinned for a GPU). On the CPU it is not the allocator's of tensors, which counts what a device
/// would hold. Throws c10::OutOfMemoryError.
[[nodiscard]] at::Tensor host_bytes(std::int64_t bytes, c10::Device to);

}  // namespace osora::worker
