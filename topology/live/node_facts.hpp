// All facts of this node: from its files, then from hwloc and NVML.
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
    /// May block if a driver hangs.
    [[nodiscard]] virtual Machine read() = 0;
};

struct NodeFactsOptions {
    std::filesystem::path root = "/";
    std::string nvml = "libnvidia-ml.so.1";  // "" = not asked
    bool hwloc = true;                       // shows the machine it runs on, whatever the root
};

[[nodiscard]] std::unique_ptr<NodeFacts> make_node_facts(NodeFactsOptions options = {});

/// Merges GPUs as reported by the driver; numa, and a link that it did not report, are kept from
/// the files. Pure.
void add_nvml_gpus(Machine& machine, NvmlGpus const& nvml);

/// Fills in sockets, cores and NUMA nodes that files did not show. Pure.
void add_cores(Machine& machine, std::vector<Core> const& cores);

}  // namespace osora::topology
