// The bash completion script, out of the command table and the run file's schema. Pure.
#pragma once

#include "cli/command/command.hpp"

#include <span>
#include <string>

namespace osora::cli {

/// Needs bash only (no bash-completion package). Names of runs are asked from `osora completion
/// runs` while the user types.
[[nodiscard]] std::string bash_completion(std::span<CommandSpec const> table);

}  // namespace osora::cli
