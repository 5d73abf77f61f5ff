// The cores of this node for its ranks: what the machine has, and which of them each rank gets.
// Driven by Workers; no error is fatal, ranks then run on any core.
#pragma once

#include "base/environment.hpp"
#include "plan/worker_job.hpp"
#include "topology/core_binding.hpp"
#include "topology/gpu_places.hpp"

#include <filesystem>
#include <vector>

namespace osora::daemon {

struct NodeCores {
    std::vector<topology::Core> cores;  // that this agent may use
    std::vector<topology::GpuPlace> gpus;
};
/// GPUs from the files below `root`.
[[nodiscard]] NodeCores read_node_cores(std::filesystem::path const& root);

/// Pure. `environment` of the workers says which GPUs they see: Slurm's list, which counts all GPUs
/// of the node, comes before CUDA_VISIBLE_DEVICES, which may count only the job's. Binds nothing,
/// without a reason, where `bind_cpus` is "auto" and the ranks have no GPUs.
[[nodiscard]] topology::CoreBinding bind_workers(NodeCores const& node, plan::WorkerJob const& job,
                                                 Environment const& environment, int ranks);

/// The CPUs that process `pid` may run on, as Linux writes lists; "" when unknown.
[[nodiscard]] std::string cpus_of_process(int pid);

}  // namespace osora::daemon
