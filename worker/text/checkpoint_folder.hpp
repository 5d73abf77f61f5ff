// Model folders as Hugging Face writes them: config.json and model.safetensors, or shards named by
// model.safetensors.index.json. Private to worker/text.
#pragma once

#include "worker/model/safetensors.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

[[nodiscard]] Result<std::string> read_model_config(std::filesystem::path const& folder);

/// The tensors of all files; a shard outside the folder is refused.
[[nodiscard]] Result<std::vector<NamedTensor>> load_model_tensors(
    std::filesystem::path const& folder);

}  // namespace osora::worker
