// Reads the files of a configuration and resolves them: the thin shell over run_file.hpp.
#pragma once

#include "plan/config/run_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace osora::plan {

struct ConfigRequest {
    std::filesystem::path site_file;  // "/etc/osora/config.toml"; need not exist; empty: none
    std::filesystem::path user_file;  // "~/.config/osora/config.toml"; the same
    std::filesystem::path run_file;   // must exist; empty: none
    std::string run_file_shown;       // name in messages; empty = run_file
    std::filesystem::path base_dir;   // empty = the folder of run_file
    std::vector<std::string> sets;    // "section.key=value"
    std::string run_text = {};        // used instead of run_file; empty: none
};

/// All problems, including those of files named in the run file; a file that cannot be read is a
/// problem.
[[nodiscard]] ResolvedConfig load_config(ConfigRequest const& request);

/// The absolute folder for relative paths of a run file.
[[nodiscard]] std::filesystem::path base_dir_of(std::filesystem::path const& run_file);

/// For a run file that will be stored in another folder than `base_dir`. Pure.
void make_paths_absolute(RunConfig& config, std::filesystem::path const& base_dir);

}  // namespace osora::plan
