// Rules between keys, and what this version of osora can run. Pure, except check_files().
#pragma once

#include "plan/config/run_file.hpp"

#include <filesystem>

namespace osora::plan {

/// Appends problems; skips rules that depend on a key that could not be read.
void check_keys(ResolvedConfig& resolved);

/// Files that the run file names, relative to `base_dir`: they must be readable, and not folders.
void check_files(ResolvedConfig& resolved, std::filesystem::path const& base_dir);

/// Valid settings that cannot be run yet: refused only by `osora submit`.
[[nodiscard]] std::vector<ConfigProblem> unsupported(ResolvedConfig const& resolved);

/// Keys that are set but have no effect yet; training is still as requested.
[[nodiscard]] std::vector<ConfigProblem> without_effect(ResolvedConfig const& resolved);

}  // namespace osora::plan
