// The time of collectives of the groups of a run: which of them reach other nodes, and what that
// costs on the measured network. Pure.
#pragma once

#include "plan/collective_curve.hpp"

#include <map>
#include <string>
#include <utility>

namespace osora::plan {

/// Where a group's ranks are. Every rank is in such a group: several of them share a node's links.
struct GroupPlace {
    topology::GroupShape shape;
    int at_once = 1;  // groups of this kind with ranks on the same node
    [[nodiscard]] bool crosses_nodes() const { return shape.nodes > 1; }
};

/// Of `size` ranks whose numbers differ by `stride`; the first begins a node. `ranks_per_node` 0:
/// all ranks are on one node.
[[nodiscard]] GroupPlace group_place(int size, int stride, int ranks_per_node);

class GroupNetwork {
public:
    /// `whole`: of all ranks of the run, which have that shape.
    GroupNetwork(CollectiveCurve whole, topology::GroupShape const& shape)
        : whole_(std::move(whole)), shape_(shape) {}
    /// all_reduce of a smaller group.
    void add(topology::GroupShape const& shape, CollectiveCurve curve) {
        reduces_.insert_or_assign(shape, std::move(curve));
    }
    /// all_gather of a group, or of all ranks.
    void add_gather(topology::GroupShape const& shape, CollectiveCurve curve) {
        gathers_.insert_or_assign(shape, std::move(curve));
    }

    /// all_reduce over all ranks.
    [[nodiscard]] CollectiveCurve const& whole() const { return whole_; }
    /// Seconds of an all_reduce of `bytes` per rank in a group that crosses nodes, while the others
    /// of its kind run theirs. Of a group that was not measured: a ring over the links that explain
    /// the whole run's.
    [[nodiscard]] double all_reduce_s(GroupPlace const& place, double bytes) const;
    /// The same of an all_gather whose result has `bytes`, and of an all_to_all in which each rank
    /// has `bytes`, as these move as much. Without a measurement half of an all_reduce.
    [[nodiscard]] double gather_s(GroupPlace const& place, double bytes) const;
    /// Seconds of a message from each rank of a node to another node and one back.
    [[nodiscard]] double messages_s(double bytes, int ranks_per_node) const;

private:
    struct Links {
        double latency_s = 0, bytes_per_s = 0;  // of a node
    };
    [[nodiscard]] Links links() const;

    CollectiveCurve whole_;
    topology::GroupShape shape_;
    std::map<topology::GroupShape, CollectiveCurve> reduces_, gathers_;
};

}  // namespace osora::plan
