// A cluster out of a short text, for plans and tests without machines:
//   synthetic:leaf:2 node:8 gpu:8          2 leaves, 8 nodes below each, 8 GPUs in a node
// Words are KEY:VALUE, separated by blanks or commas, in any order:
//   spine:N   switches, each joined with every leaf       (0)
//   leaf:N    leaf switches                               (0: no fabric is known)
//   node:N    nodes below each leaf; without leaves, all  (1)
//   gpu:N     GPUs of a node                              (0)
//   nic:N     RDMA cards of a node                        (as many as GPUs, at least 1)
//   socket:N  NUMA nodes of a node                        (2, or 1 with fewer than 2 GPUs)
//   core:N    cores of a node                             (0: not known)
//   model:M   of the GPUs: h100, a100, 3090, ...          (h100)
//   rate:G    Gbit/s of a card                            (400; 200 for A100; 100 else)
//   fabric:K  infiniband, roce or ethernet                (infiniband)
//   up:G      Gbit/s of a leaf's links to the spines      (what its nodes can send)
//   block:N   nodes of an NVLink domain                   (0: none)
//   name:P    start of the nodes' names                   (n: n1, n2, ...)
#pragma once

#include "base/result.hpp"
#include "topology/fabric.hpp"

#include <string_view>

namespace osora::topology {

/// With or without the prefix "synthetic:". invalid_input names the word, and the nearest key to an
/// unknown one; at most 65,536 nodes and 1,048,576 devices.
[[nodiscard]] Result<ClusterTopology> parse_synthetic(std::string_view text);

}  // namespace osora::topology
