// The tensors of a shard by name, each checked for type and shape. Private to worker/cache.
#pragma once

#include "worker/model/weights/safetensors.hpp"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace osora::worker {

struct ShardMark;

class ShardTensors {
public:
    [[nodiscard]] static Result<ShardTensors> open(std::filesystem::path const& path);

    /// corrupt if it is missing or differs; a size of -1 matches any.
    [[nodiscard]] Result<at::Tensor> take(std::string const& name, at::ScalarType type,
                                          std::vector<std::int64_t> const& shape) const;

private:
    ShardTensors(std::string path, SafetensorsContent content)
        : path_(std::move(path)), content_(std::move(content)) {}
    std::string path_;
    SafetensorsContent content_;
};

/// Metadata of a shard's file.
[[nodiscard]] std::map<std::string, std::string> shard_metadata(ShardMark const& mark,
                                                                std::int64_t entries);

}  // namespace osora::worker
