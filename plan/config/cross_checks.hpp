// Rules between keys, and what this version of osora can run. Pure, but for check_files().
#pragma once

#include "plan/config/run_file.hpp"

#include <filesystem>

namespace osora::plan {

/// Appends problems; rules that rest on a key that could not be read are left out.
void check_keys(ResolvedConfig& resolved);

/// Files that the run file names, relative to `base_dir`: they must be readable, and no folders.
void check_files(ResolvedConfig& resolved, std::filesystem::path const& base_dir);

/// What is valid but cannot be run yet: refused by `osora submit` only.
[[nodiscard]] std::vector<ConfigProblem> unsupported(ResolvedConfig const& resolved);

/// Keys that are set and have no effect yet, while training is as asked for.
[[nodiscard]] std::vector<ConfigProblem> without_effect(ResolvedConfig const& resolved);

}  // namespace osora::plan
