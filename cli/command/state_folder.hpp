// The state folder before something is kept or started in it: whose it is, and closed to others.
#pragma once

#include "base/files/own_folder.hpp"
#include "base/result.hpp"
#include "cli/command/context.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::cli {

/// OSORA_TRUST_PARENTS=1: whoever may write to the folders above the state folder is trusted.
[[nodiscard]] Parents parents_of(Environment const& environment);

/// Makes STATE and STATE/runs with mode 0700. What is there and open to others is closed, with one
/// line on stderr that says so. invalid_input: somebody else could change what stands there.
[[nodiscard]] Result<void> own_state(Context const& context, std::filesystem::path const& state);

/// The same for a look at it, which tells instead of printing: false when the folder is not ours
/// and nothing may be written there. Appends what was closed, or whose it is, to `warnings`.
[[nodiscard]] bool is_own_state(std::filesystem::path const& state,
                                std::vector<std::string>& warnings);

}  // namespace osora::cli
