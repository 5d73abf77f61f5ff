// The files that osora's plug-in in Slurm reads (docs/rfc/003): what an agent learned about its
// node, and what a plan sets for a plain srun. Pure. What the plug-in would refuse is an error
// here.
#pragma once

#include "base/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::topology {

struct NodeProfile {
    std::string boot_id;                     // of the boot it was measured in
    std::map<std::string, std::string> env;  // NCCL_, TORCH_NCCL_, GLOO_, UCX_, FI_ variables
    std::vector<std::string> cpus;           // by local rank, as Linux writes lists: "0-3,8"; ""
};

struct SrunPlan {
    std::map<std::string, std::string> env;  // of the same names
    int tasks = 0;                           // of the whole step; 0: any
    int tasks_per_node = 0;                  // 0: any
};

/// Write it with write_file_atomic and mode 0644 into a folder that only its owner writes to.
[[nodiscard]] Result<std::string> encode_node_profile(NodeProfile const& profile);
[[nodiscard]] Result<std::string> encode_srun_plan(SrunPlan const& plan);

/// Whether the files may hold a variable of this name.
[[nodiscard]] bool is_srun_variable(std::string_view name);

}  // namespace osora::topology
