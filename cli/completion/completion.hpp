// Completion scripts for shells, generated from the command table and the run file's schema. Pure.
#pragma once

#include "cli/command/command.hpp"

#include <span>
#include <string>

namespace osora::cli {

/// Needs only bash (no bash-completion package). The script asks `osora completion runs` for names
/// of runs while the user types.
[[nodiscard]] std::string bash_completion(std::span<CommandSpec const> table);
/// For a file _osora in a folder of $fpath.
[[nodiscard]] std::string zsh_completion(std::span<CommandSpec const> table);
/// For ~/.config/fish/completions/osora.fish; fish 3.
[[nodiscard]] std::string fish_completion(std::span<CommandSpec const> table);

}  // namespace osora::cli
