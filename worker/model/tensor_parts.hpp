// A safetensors file that several ranks write together: each knows all names and shapes, and has
// some of the values. The file equals one written by a single rank.
#pragma once

#include "base/result.hpp"
#include "worker/model/weights/tensor_slice.hpp"

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::worker {

/// A tensor of a file, and the part of it on this rank.
struct TensorParts {
    struct Part {
        std::int64_t first = 0;  // item of the flattened tensor
        at::Tensor values;       // any shape, on any device
        /// If the values are not one contiguous range: all ranges; `first` is then unused.
        std::vector<ItemRun> runs = {};

        /// Copies its values out of the whole, flattened tensor.
        void take(at::Tensor const& items) const;
    };
    TensorParts(std::string tensor_name, at::Tensor const& whole);
    TensorParts(std::string tensor_name, at::ScalarType tensor_type,
                std::vector<std::int64_t> tensor_shape);

    std::string name;
    at::ScalarType type;
    std::vector<std::int64_t> shape;
    std::vector<Part> parts;
};

/// Writes the parts in place, synced; `first_writer` also writes the header and the size. Ranks may
/// come in any order, each in its own process. The file is complete when all have written: use a
/// name that nobody reads. `written` grows as bytes are written; all but the last 512 MiB of them
/// are on the disk, so that a slow one shows in it.
[[nodiscard]] Result<void> write_parts(std::filesystem::path const& path,
                                       std::vector<TensorParts> const& tensors,
                                       std::map<std::string, std::string> const& metadata,
                                       bool first_writer,
                                       std::atomic<std::int64_t>* written = nullptr);

}  // namespace osora::worker
