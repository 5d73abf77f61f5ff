// Which RDMA devices NCCL should use on each node: those of the network that joins the GPUs, not
// those of storage and management; and what follows from them. Pure.
#pragma once

#include "topology/machine.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace osora::plan {

struct NodeHcas {
    std::string node;
    std::vector<std::string> devices;   // "mlx5_0", with ":2" where a card has several ports
    std::vector<std::string> left_out;  // "mlx5_4 (25 of 400 Gbit/s)"
    topology::NicKind kind = topology::NicKind::infiniband;
    std::optional<int> gid_index;  // RoCE v2 over IPv4, the same on all of `devices`
    bool far_from_gpu = false;     // the nearest device of some GPU is beyond its PCIe switches
};

struct HcaChoice {
    std::vector<NodeHcas> nodes;       // those that have RDMA devices that are up
    std::vector<std::string> without;  // nodes that have none, while others do
    std::vector<std::string> warnings;
    bool rails = false;  // device i of every node is in a network of its own: NCCL_CROSS_NIC=0
    bool efa = false;    // needs the plug-in aws-ofi-nccl
};

/// On each node: of InfiniBand and RoCE the kind with the larger sum of rates; of that the devices
/// of the highest rate; of these those below the same PCIe switch as a GPU, when every GPU has one.
[[nodiscard]] HcaChoice choose_hcas(std::span<topology::Machine const> machines);

}  // namespace osora::plan
