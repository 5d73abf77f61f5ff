// `osora-worker --model merge`: adds a LoRA adapter to weights. Started by `osora model merge`.
#pragma once

#include "base/result.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace osora::worker {

struct MergeCommand {
    std::filesystem::path weights;  // a file, an index of shards, or their folder
    std::filesystem::path adapter;  // a folder with adapter_config.json, or a file beside one
    std::filesystem::path out;
};

/// Parses the words after "--model merge"; invalid_input names a missing or unknown one.
[[nodiscard]] Result<MergeCommand> parse_merge_command(std::span<std::string const> words);

/// Writes the merged weights (all of them, or no file) and returns a summary as JSON
/// (osora.model_merge/1). Files that are broken or do not match are invalid_input.
[[nodiscard]] Result<std::string> run_merge_command(MergeCommand const& command);

}  // namespace osora::worker
