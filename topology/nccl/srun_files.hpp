// The files for osora's plug-in in Slurm (docs/rfc/003): facts that an agent learned about its
// node, and a plan's settings for plain srun. Pure. What the plug-in would refuse is an error here.
#pragma once

#include "base/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::topology {

struct NodeProfile {
    std::string boot_id;                     // boot in which it was measured
    std::map<std::string, std::string> env;  // NCCL_, TORCH_NCCL_, GLOO_, UCX_, FI_ variables
    std::vector<std::string> cpus;           // by local rank, as Linux CPU lists: "0-3,8"; ""
};

struct SrunPlan {
    std::map<std::string, std::string> env;  // variables with these prefixes
    int tasks = 0;                           // of the whole step; 0: any
    int tasks_per_node = 0;                  // 0: any
};

/// Write it with write_file_atomic and mode 0644 into a folder that only its owner writes to.
[[nodiscard]] Result<std::string> encode_node_profile(NodeProfile const& profile);
[[nodiscard]] Result<std::string> encode_srun_plan(SrunPlan const& plan);

/// Whether the files may hold a variable of this name.
[[nodiscard]] bool is_srun_variable(std::string_view name);

}  // namespace osora::topology
