// The RDMA devices that NCCL should use on each node: those of the network between the GPUs, not
// those of storage and management; and the settings that follow. Pure.
#pragma once

#include "topology/machine.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace osora::plan {

struct NodeHcas {
    std::string node;
    std::vector<std::string> devices;   // "mlx5_0", with ":2" if a card has several ports
    std::vector<std::string> left_out;  // "mlx5_4 (25 of 400 Gbit/s)"
    topology::NicKind kind = topology::NicKind::infiniband;
    std::optional<int> gid_index;  // RoCE v2 over IPv4, the same on all of `devices`
    bool far_from_gpu = false;     // the device nearest to some GPU is beyond its PCIe switches
};

struct HcaChoice {
    std::vector<NodeHcas> nodes;       // nodes with RDMA devices that are up
    std::vector<std::string> without;  // nodes without, while others have some
    std::vector<std::string> warnings;
    bool rails = false;  // device i of every node is in a separate network: NCCL_CROSS_NIC=0
    bool efa = false;    // needs the plug-in aws-ofi-nccl
};

/// On each node: of InfiniBand and RoCE the kind with the larger sum of rates; of these the devices
/// with the highest rate; of these those below the same PCIe switch as a GPU, if every GPU has one.
[[nodiscard]] HcaChoice choose_hcas(std::span<topology::Machine const> machines);

}  // namespace osora::plan
