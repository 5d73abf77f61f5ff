// Checks the state folder before anything is stored or started in it: its owner, and that other
// users cannot enter it.
#pragma once

#include "base/files/own_folder.hpp"
#include "base/result.hpp"
#include "cli/command/context.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

/// OSORA_TRUST_PARENTS=1: trust whoever may write to the folders above the state folder.
[[nodiscard]] Parents parents_of(Environment const& environment);

/// Makes STATE and STATE/runs with mode 0700. If they exist and are open to others, closes them and
/// says so on stderr. invalid_input: somebody else could change their content.
[[nodiscard]] Result<void> own_state(Context const& context, std::filesystem::path const& state);

/// The same for commands that only read; returns its messages instead of printing: false when the
/// folder belongs to somebody else and must not be written to. Appends what was closed, or the
/// owner, to `warnings`.
[[nodiscard]] bool is_own_state(std::filesystem::path const& state,
                                std::vector<std::string>& warnings);

}  // namespace osora::cli
