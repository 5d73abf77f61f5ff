// The time of collectives of the groups of a run: which of them reach other nodes, and what that
// costs on the measured network. Pure.
#pragma once

#include "plan/network/collective_curve.hpp"

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
    /// Of a group, or another collective than all_reduce of all ranks.
    void add(topology::Collective collective, topology::GroupShape const& shape,
             CollectiveCurve curve) {
        measured_.insert_or_assign({collective, shape}, std::move(curve));
    }

    /// all_reduce over all ranks.
    [[nodiscard]] CollectiveCurve const& whole() const { return whole_; }
    /// Seconds of a collective in a group that crosses nodes, while the others of its kind run
    /// theirs: all_reduce of `bytes` per rank; all_gather whose result has `bytes`; reduce_scatter
    /// and all_to_all of which each rank gives `bytes`. Of a group whose all_reduce was not
    /// measured: a ring over the links that explain the whole run's. Of another collective that
    /// was not measured: as all_gather, which moves as much, else half of an all_reduce.
    [[nodiscard]] double seconds(topology::Collective collective, GroupPlace const& place,
                                 double bytes) const;
    /// Seconds of a message of `bytes` from each rank of a group to the next, all at the same time:
    /// as long as all_to_all takes for as many bytes of a rank, since messages between two ranks
    /// may be slower than a ring; if that was not measured, over the links as seconds() takes them.
    [[nodiscard]] double hop_s(GroupPlace const& place, double bytes) const;

private:
    struct Links {
        double latency_s = 0, bytes_per_s = 0;  // of a node
    };
    [[nodiscard]] Links links() const;
    [[nodiscard]] double all_reduce_s(GroupPlace const& place, double bytes) const;
    /// nullptr: it was not measured.
    [[nodiscard]] CollectiveCurve const* curve_of(topology::Collective collective,
                                                  topology::GroupShape const& shape) const;

    CollectiveCurve whole_;
    topology::GroupShape shape_;
    std::map<std::pair<topology::Collective, topology::GroupShape>, CollectiveCurve> measured_;
};

}  // namespace osora::plan
