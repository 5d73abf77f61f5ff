// The node profile that the plug-in for plain srun reads (docs/rfc/003), written by the agent on
// that node. It is advice: a failed write is logged, and the run continues.
#pragma once

#include "base/log/log.hpp"
#include "base/result.hpp"
#include "daemon/node/rank_binding.hpp"
#include "plan/decision.hpp"
#include "topology/nccl/srun_files.hpp"

#include <filesystem>
#include <string>

namespace osora::daemon {

struct ProfileFacts {
    std::string boot_id;
    NodeCores node;
    bool whole_machine = false;  // node.cores are all of the machine's, not a share of them
    std::vector<plan::NcclSetting> settings;
    std::string host = {};  // this node's name, as plans name nodes
};

/// Settings for this node that come from its facts or a probe (a user's own settings are for one
/// run), and, where the agent sees the whole machine, the cores next to each GPU. Pure.
[[nodiscard]] topology::NodeProfile profile_of(ProfileFacts const& facts);

/// "/run/osora" for root, "/tmp/osora-UID" for others.
[[nodiscard]] std::filesystem::path default_profile_folder(unsigned uid);

/// Writes FOLDER/node if the folder exists; a folder that other users can write to is an error.
/// Returns whether it was written; a file with the same content stays untouched.
[[nodiscard]] Result<bool> write_profile(std::filesystem::path const& folder,
                                         topology::NodeProfile const& profile);

/// All of the above, for the job of `run_dir` on the node `host`.
void leave_profile(std::filesystem::path const& folder, std::filesystem::path const& run_dir,
                   std::string host, Logger& log);

}  // namespace osora::daemon
