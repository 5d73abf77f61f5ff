// Weights of a network in the forms of checkpoints: one safetensors file, the shards in a Hugging
// Face index (*.index.json), the folder with either, or a torch.save file (torch_file.hpp).
// "FILE#PART" selects one of several: a set of a torch.save file, or the tensors whose names begin
// with "PART.", without that prefix.
#pragma once

#include "worker/model/weights/loaded_weights.hpp"
#include "worker/model/weights/weight_index.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace osora::worker {

/// Names and types as in the file. Views of the mapped files (of torch.save's: copies). A tensor
/// that is in the index but not in its shard, or the reverse, is an error that names it.
[[nodiscard]] Result<LoadedWeights> load_weight_files(std::filesystem::path const& path);

/// The same for a network: without the prefixes that wrappers put before all names
/// (weight_names.hpp), and 8-bit floating point as bf16, which holds each of its values. Such
/// weights with block scales are rejected by name.
[[nodiscard]] Result<LoadedWeights> load_network_weights(std::filesystem::path const& path);

/// "KEY[1,2] is NaN": invalid_input names the first number that is not finite. `looked_at` is
/// called after each tensor, which may have come from a slow disk; none: nothing is called.
[[nodiscard]] Result<void> check_finite(std::vector<NamedTensor> const& weights,
                                        std::function<void()> const& looked_at = nullptr);

/// The text of config.json in a Hugging Face folder.
[[nodiscard]] Result<std::string> read_model_config(std::filesystem::path const& folder);

}  // namespace osora::worker
