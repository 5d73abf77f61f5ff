// The nodes, GPUs and cards that --gpus, --topology, --gpu, --nodes, --gpus-per-node and --nic-gbit
// describe. Pure.
#pragma once

#include "plan/evaluate/nominal_rates.hpp"
#include "topology/fabric.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

struct ClusterRequest {
    int gpus = 0;                             // in all, at least 1
    topology::ClusterTopology topology = {};  // no nodes: none was named
    std::string source = {};                  // of it, as the user named it; empty: none
    std::optional<int> nodes = {}, gpus_per_node = {};
    std::optional<std::string> gpu = {};  // name in the table, or in a driver
    std::optional<double> nic_gbit = {};  // of one GPU
};

struct NamedCluster {
    GpuNodes gpus;
    topology::Node node;             // facts of each node besides its GPUs
    std::int64_t memory_bytes = 0;   // memory of one GPU, as its driver reports it; 0: unknown
    std::vector<std::string> taken;  // what was not given, and the value used instead
};

/// Errors are invalid_input or not_found; they name the option and the nearest valid value.
[[nodiscard]] Result<NamedCluster> named_cluster(ClusterRequest const& request,
                                                 HardwareTable const& hardware);

}  // namespace osora::plan
