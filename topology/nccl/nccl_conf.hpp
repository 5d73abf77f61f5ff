// Which NCCL_*, TORCH_NCCL_* and GLOO_* variables a process inherits, and their origins: its
// environment (with the machine's file that set it, if found) and NCCL's own files. Reads only
// below a root directory.
#pragma once

#include "base/environment.hpp"
#include "topology/assignment.hpp"
#include "topology/nccl/inherited_setting.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace osora::topology {

/// All that a process with `environment` inherits on the machine whose files are below `root`, by
/// name, the effective one first. `home`: its user's, as a path on that machine; "" = none. A file
/// that is missing or larger than 1 MiB counts as empty.
[[nodiscard]] std::vector<InheritedSetting> read_inherited_settings(
    std::map<std::string, std::string> const& environment, std::filesystem::path const& root,
    std::filesystem::path const& home);

/// ROOT/proc/self/environ: the recorded environment of a tree; empty without one.
[[nodiscard]] Environment recorded_environment(std::filesystem::path const& root);

}  // namespace osora::topology
