// The cores on which each rank of a node runs: near its GPU, whole cores, no core twice. Pure; the
// agent applies it. If a good binding is impossible there is none: ranks then run on every core.
#pragma once

#include <string>
#include <vector>

namespace osora::topology {

/// A core with its usable hardware threads.
struct Core {
    std::vector<int> cpus;  // as the kernel numbers them, ascending
    int numa = 0, package = 0;

    friend bool operator==(Core const&, Core const&) = default;
};

struct BindingRequest {
    int ranks = 1;
    int cpus_per_rank = 0;  // CPUs that each rank needs; 0: not given
    /// By local rank: the CPUs next to its GPU. Empty, or empty lists: no GPU.
    std::vector<std::vector<int>> near;
};

struct CoreBinding {
    std::vector<std::vector<int>> cpus;  // by local rank, ascending; empty: nothing is bound
    std::string reason;                  // why nothing is bound
};

/// `cores`: the usable ones, in an order that keeps a NUMA node's together. Each rank gets an even
/// share: first from the NUMA nodes next to its GPU, then from others. With a GPU and
/// `cpus_per_rank` given, only that many are taken from others.
[[nodiscard]] CoreBinding bind_ranks(std::vector<Core> const& cores, BindingRequest const& request);

}  // namespace osora::topology
