// `osora-worker --model forward|train-step`: runs a case and writes its outputs. Started by `osora
// model`.
#pragma once

#include "worker/cases/case_file.hpp"

#include <filesystem>
#include <span>
#include <string>

namespace osora::worker {

struct ModelCommand {
    bool train_step = false;
    std::filesystem::path case_path;  // or arch, weights and inputs
    std::string arch;
    std::filesystem::path weights, inputs;
    std::filesystem::path out;
};

/// Parses the words after --model; invalid_input names a missing or unknown one.
[[nodiscard]] Result<ModelCommand> parse_model_command(std::span<std::string const> words);

/// A case from a file whose metadata name component and config.
[[nodiscard]] Result<CaseFile> open_case(std::filesystem::path const& path);
/// A case of a named architecture; inputs may be called in/NAME or NAME.
[[nodiscard]] Result<CaseFile> open_arch(ModelCommand const& command);

/// Runs the case, writes the outputs (all of them, or no file) and returns a summary as JSON
/// (osora.model/1). Files that are broken or do not match are invalid_input.
[[nodiscard]] Result<std::string> run_model_command(ModelCommand const& command);

}  // namespace osora::worker
