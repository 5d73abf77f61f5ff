// Weights of a network as checkpoints come: one safetensors file, or the shards that a Hugging Face
// index (*.safetensors.index.json) lists, or the folder that holds either, or a file of torch.save
// (torch_file.hpp).
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/model/weight_index.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

/// Views of the mapped files (of torch.save's: copies). A tensor that the index lists and its shard
/// lacks, or the reverse, is an error that names it.
[[nodiscard]] Result<std::vector<NamedTensor>> load_weight_files(std::filesystem::path const& path);

/// "KEY[1,2] is NaN": invalid_input names the first number that is not finite.
[[nodiscard]] Result<void> check_finite(std::vector<NamedTensor> const& weights);

/// The text of config.json in a folder that Hugging Face wrote.
[[nodiscard]] Result<std::string> read_model_config(std::filesystem::path const& folder);

}  // namespace osora::worker
