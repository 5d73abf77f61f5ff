// Which cores each rank of a node runs on: near its GPU, whole cores, no core twice. Pure; the
// agent applies it. Where it cannot be done well it is not done at all: ranks then run on every
// core.
#pragma once

#include <string>
#include <vector>

namespace osora::topology {

/// A core with those of its hardware threads that may be used.
struct Core {
    std::vector<int> cpus;  // as the kernel numbers them, ascending
    int numa = 0, package = 0;

    friend bool operator==(Core const&, Core const&) = default;
};

struct BindingRequest {
    int ranks = 1;
    int cpus_per_rank = 0;  // that each needs; 0: not said
    /// By local rank: the CPUs next to its GPU. Empty, or empty lists: it has none.
    std::vector<std::vector<int>> near;
};

struct CoreBinding {
    std::vector<std::vector<int>> cpus;  // by local rank, ascending; empty: nothing is bound
    std::string reason;                  // why nothing is bound
};

/// `cores`: those that may be used, in an order that keeps a NUMA node's together. A rank gets its
/// even share of them: of the NUMA nodes next to its GPU first, of others what those lack. With a
/// GPU and `cpus_per_rank` given, those are all that is taken from others.
[[nodiscard]] CoreBinding bind_ranks(std::vector<Core> const& cores, BindingRequest const& request);

}  // namespace osora::topology
