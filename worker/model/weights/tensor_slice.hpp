// The part of a tensor on one rank if ranks share a layer (tensor parallel): arithmetic on sizes,
// and cutting it out of the whole.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace osora::worker {

/// Ranks that share the linear layers of a network (tensor parallel).
struct TensorShare {
    int rank = 0, ranks = 1;
};

/// Items that are contiguous in both the whole (flattened) tensor and the slice.
struct ItemRun {
    std::int64_t whole = 0, own = 0, count = 0;
};

/// Along `dim` the whole tensor consists of `parts` in sequence (of qkv: queries, keys, values),
/// and each rank has its run of each part.
struct TensorSlice {
    std::vector<std::int64_t> sizes;  // of the whole
    std::int64_t dim = 0;
    std::vector<std::int64_t> parts;  // divide by the ranks; their sum is sizes[dim]
    int rank = 0, ranks = 1;

    [[nodiscard]] std::vector<std::int64_t> own_sizes() const;
    /// A tensor of own_sizes() out of one of `sizes`.
    [[nodiscard]] at::Tensor of(at::Tensor const& whole) const;
    /// Positions of items [first, first + count) of the slice in the whole, in order.
    [[nodiscard]] std::vector<ItemRun> runs(std::int64_t first, std::int64_t count) const;
};

}  // namespace osora::worker
