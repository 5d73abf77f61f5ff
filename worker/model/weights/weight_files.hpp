// Weights of a network as checkpoints come: one safetensors file, or the shards that a Hugging Face
// index (*.index.json) lists, or the folder that holds either, or a file of torch.save
// (torch_file.hpp). "FILE#PART" is one of several: a set of a torch.save file, or the tensors whose
// names begin with "PART.", which is left out.
#pragma once

#include "worker/model/weights/loaded_weights.hpp"
#include "worker/model/weights/weight_index.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::worker {

/// Names and types as the file has them. Views of the mapped files (of torch.save's: copies). A
/// tensor that the index lists and its shard lacks, or the reverse, is an error that names it.
[[nodiscard]] Result<LoadedWeights> load_weight_files(std::filesystem::path const& path);

/// The same for a network: without the words that wrappers put in front of all names
/// (weight_names.hpp), and 8-bit floating point as bf16, which holds each of its values. Such
/// weights with scales of blocks are refused by name.
[[nodiscard]] Result<LoadedWeights> load_network_weights(std::filesystem::path const& path);

/// "KEY[1,2] is NaN": invalid_input names the first number that is not finite.
[[nodiscard]] Result<void> check_finite(std::vector<NamedTensor> const& weights);

/// The text of config.json in a folder that Hugging Face wrote.
[[nodiscard]] Result<std::string> read_model_config(std::filesystem::path const& folder);

}  // namespace osora::worker
