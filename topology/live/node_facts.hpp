// All that this node can tell of itself: its files, then what hwloc and NVML add to them.
#pragma once

#include "topology/core_binding.hpp"
#include "topology/live/nvml_gpus.hpp"
#include "topology/machine.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace osora::topology {

class NodeFacts {
public:
    virtual ~NodeFacts() = default;
    /// May block on a driver that hangs.
    [[nodiscard]] virtual Machine read() = 0;
};

struct NodeFactsOptions {
    std::filesystem::path root = "/";
    std::string nvml = "libnvidia-ml.so.1";  // "" = not asked
    bool hwloc = true;                       // sees the machine it runs on, whatever the root
};

[[nodiscard]] std::unique_ptr<NodeFacts> make_node_facts(NodeFactsOptions options = {});

/// GPUs as the driver tells them; numa, and a link that it did not tell, stay those of the files.
/// Pure.
void add_nvml_gpus(Machine& machine, NvmlGpus const& told);

/// Sockets, cores and NUMA nodes, where files told none. Pure.
void add_cores(Machine& machine, std::vector<Core> const& cores);

}  // namespace osora::topology
