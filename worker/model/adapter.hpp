// Linear layers that may have a low-rank adapter.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace osora::worker {

/// Low-rank adapter of a linear layer (LoRA, arXiv 2106.09685): adds scale (x a^T) b^T to its
/// outputs. Undefined tensors: no adapter.
struct Adapter {
    at::Tensor a;      // (rank, in)
    at::Tensor b;      // (out, rank)
    double scale = 1;  // alpha / rank
};

/// A linear layer "NAME.weight" and the adapter that it reads in each forward.
struct LinearSlot {
    std::string name;
    std::int64_t in = 0, out = 0;
    std::shared_ptr<Adapter> adapter;
    std::size_t unit = 0;
};

}  // namespace osora::worker
