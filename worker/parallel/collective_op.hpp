// One collective of a given size over a backend, repeated on the same tensors: the operation that a
// probe times.
#pragma once

#include "worker/parallel/device.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace c10d {
class Backend;
}

namespace osora::worker {

class CollectiveOp {
public:
    /// `name`: all_reduce, all_gather, reduce_scatter, broadcast or send_recv (ranks 0-1, 2-3, ...
    /// of the group, in both directions). Tensors are fp32; `size_bytes` as nccl-tests counts it.
    CollectiveOp(std::string name, std::int64_t size_bytes, c10d::Backend& backend,
                 Device const& device);

    /// Returns when this rank is done. Throws what the backend throws.
    void run();

    /// Size of a whole operation, after rounding up to whole values per rank.
    [[nodiscard]] std::int64_t size_bytes() const { return size_bytes_; }

private:
    void send_and_receive();

    std::string name_;
    c10d::Backend& backend_;
    Device device_;
    std::int64_t size_bytes_ = 0;
    at::Tensor whole_, part_;  // whole: size_bytes; part: this rank's share of it
};

}  // namespace osora::worker
