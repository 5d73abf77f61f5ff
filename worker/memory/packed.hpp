// Values of one tensor in another form until backward needs them. Private to worker/memory.
#pragma once

#include "worker/memory/block_codec.hpp"
#include "worker/memory/side_copies.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace osora::worker {

class Packed {
public:
    Packed(at::TensorOptions options, std::int64_t count) : options_(options), count_(count) {}
    virtual ~Packed() = default;
    Packed(Packed const&) = delete;
    Packed& operator=(Packed const&) = delete;

    /// (count): all values in memory order. While the result is alive, the next caller gets the
    /// same one. Any thread.
    [[nodiscard]] at::Tensor values();

    /// Bytes held on the tensor's device.
    [[nodiscard]] virtual std::int64_t bytes() const = 0;

protected:
    [[nodiscard]] virtual at::Tensor unpack() = 0;
    [[nodiscard]] at::TensorOptions const& options() const { return options_; }
    [[nodiscard]] std::int64_t count() const { return count_; }

private:
    at::TensorOptions options_;  // of the tensor
    std::int64_t count_;
    std::mutex mutex_;
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> given_out_;
};

/// Of a tensor in fp32, fp16 or bf16: half of fp32's bytes.
[[nodiscard]] std::shared_ptr<Packed> pack_bf16(at::Tensor const& tensor);

struct Int8Packed {
    std::shared_ptr<Packed> packed;  // nullptr: some value is not finite
    double expected_error = 0;       // relative L2, from the scales
    double sampled_error = 0;        // of one block in 32, measured
};
/// Of a tensor in fp32, fp16 or bf16; `key` as for encode_int8.
[[nodiscard]] Int8Packed pack_int8(at::Tensor const& tensor, std::optional<std::uint64_t> key);
/// The same with LibTorch's operators, for tensors on a GPU. Rounds to the nearest.
[[nodiscard]] Int8Packed pack_int8_by_operators(at::Tensor const& tensor);

/// A copy in host memory, page-locked where the tensor is on a GPU.
class OffloadedValues : public Packed {
public:
    using Packed::Packed;
    /// Starts the copy back; values() returns it.
    virtual void prefetch() = 0;
    [[nodiscard]] virtual std::int64_t host_bytes() const = 0;
};
/// `copies`: of the tensor's device; nullptr on the CPU.
[[nodiscard]] std::shared_ptr<OffloadedValues> pack_offload(at::Tensor const& tensor,
                                                            std::shared_ptr<SideCopies> copies);

/// Values that a function recomputes.
[[nodiscard]] std::shared_ptr<Packed> pack_function(at::Tensor const& made,
                                                    std::function<at::Tensor()> make);

}  // namespace osora::worker
