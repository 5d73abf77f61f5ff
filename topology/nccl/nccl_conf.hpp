// Which NCCL_*, TORCH_NCCL_* and GLOO_* variables a process inherits, and from where: its
// environment (with the file of the machine that set it, where one is found) and NCCL's own files.
// Looks below a root directory only.
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
/// name, what takes effect first. `home`: of its user, as the machine names it; "" = none. A file
/// that is missing or larger than 1 MiB counts as empty.
[[nodiscard]] std::vector<InheritedSetting> read_inherited_settings(
    std::map<std::string, std::string> const& environment, std::filesystem::path const& root,
    std::filesystem::path const& home);

/// ROOT/proc/self/environ: the environment that a recorded tree carries; empty without one.
[[nodiscard]] Environment recorded_environment(std::filesystem::path const& root);

}  // namespace osora::topology
