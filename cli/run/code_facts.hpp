// The commit and repository that a job = "exec" run trains with, as facts of its submission.
#pragma once

#include "base/environment.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::cli {

/// code.repository (top folder), code.commit, and code.dirty: "no", "2 files, 1a2b3c4d5e6f" (a hash
/// of the differences from the commit; files unknown to git do not count) or "unknown". The
/// repository is that of the first file named in `command`, else of `base_dir`. Empty without git,
/// a repository or a commit; takes a few seconds at most.
[[nodiscard]] std::map<std::string, std::string> code_facts(
    Environment const& environment, std::filesystem::path const& base_dir,
    std::vector<std::string> const& command);

}  // namespace osora::cli
