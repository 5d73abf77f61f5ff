// Which host of the allocation each node of a run uses: spares replace hosts that have failed.
// Pure; driven by the Slurm backend.
#pragma once

#include "base/result.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace osora::slurm {

struct PlacementOptions {
    std::vector<std::string> hosts;     // of the allocation, in its order
    int nodes = 1;                      // of the run
    std::vector<std::string> excluded;  // hosts never to use; with or without their domain
    std::vector<std::string> last;      // host of each node in an earlier incarnation; "" = none
};

class Placement {
public:
    explicit Placement(PlacementOptions options);

    /// The host for a new agent of `node`: the one that it had, or a spare when that is bad or
    /// doubtful. not_found when no good host is left.
    [[nodiscard]] Result<std::string> place(int node);
    /// "" = none.
    [[nodiscard]] std::string host_of(int node) const;
    /// A fault of the host; a sum of kBad or more makes it bad.
    void fault(std::string const& host, int weight);
    /// A node leaves the host when another one is free, but may stay where none is.
    void doubt(std::string const& host) { doubtful_.insert(host); }
    [[nodiscard]] bool is_bad(std::string const& host) const;
    /// Whether the nodes' hosts follow the order of the allocation, so that the n-th task of one
    /// step over all of them is node n.
    [[nodiscard]] bool is_in_order() const;
    [[nodiscard]] int usable() const;

    static constexpr int kBad = 2;  // an agent that died counts 1, a silent host 2

private:
    [[nodiscard]] std::string const* free_host(bool also_doubtful) const;

    std::vector<std::string> hosts_;
    std::map<std::string, int> faults_;
    std::set<std::string> doubtful_;
    std::vector<std::string> of_node_;
};

}  // namespace osora::slurm
