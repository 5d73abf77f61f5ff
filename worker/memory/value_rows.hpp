// The values of a strided tensor in memory order, without gaps: copied to a packed form, and back.
// Private to worker/memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace osora::worker {

/// The layout of a tensor in its storage.
struct ValueRows {
    bool dense = false;                 // no gaps: numel values from storage_offset on
    std::int64_t run = 1;               // contiguous values
    std::vector<std::int64_t> sizes;    // of the dimensions that step from run to run, outer first
    std::vector<std::int64_t> steps;    // their strides
    std::vector<std::int64_t> strides;  // of the tensor without its gaps
};
/// For a tensor without dimensions of stride 0 (but size 1 may have any).
[[nodiscard]] ValueRows value_rows(at::Tensor const& tensor);

/// Whether some value is at more than one index: expanded, or overlapping.
[[nodiscard]] bool repeats_values(at::Tensor const& tensor);

/// Values [first, first + count) in fp32 of a CPU tensor in fp32 or bf16; points into the tensor if
/// they can be used directly, else into `buffer`, which must have room for `count`.
[[nodiscard]] float const* read_values(at::Tensor const& tensor, ValueRows const& rows,
                                       std::int64_t first, std::int64_t count, float* buffer);

}  // namespace osora::worker
