#include "plan/network/group_network.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {

using topology::Collective;

namespace {

/// Of groups that share the links of their nodes.
double shared_s(CollectiveCurve const& curve, int at_once, double bytes) {
    double const start = curve.seconds(0);
    return start + at_once * (curve.seconds(bytes) - start);
}

}  // namespace

GroupPlace group_place(int size, int stride, int ranks_per_node) {
    OSORA_CHECK_LE(1, size);
    OSORA_CHECK_LE(1, stride);
    if (ranks_per_node < 1 || size * stride <= ranks_per_node) return {{size, 1}, stride};
    int const on_node = std::max(1, ranks_per_node / stride);
    int const nodes = std::min(size, (size + on_node - 1) / on_node);
    return {{size, nodes}, std::min(stride, ranks_per_node)};
}

/// The ring of all ranks leaves each node once.
GroupNetwork::Links GroupNetwork::links() const {
    constexpr double kLarge = 256.0 * (1 << 20);
    double const ranks = shape_.ranks, start = whole_.seconds(0);
    double const sent = 2 * (ranks - 1) / ranks * kLarge;
    return {.latency_s = start / (2 * std::log2(std::max(2.0, ranks))),  // of one of a tree's steps
            .bytes_per_s = sent / std::max(1e-9, whole_.seconds(kLarge) - start)};
}

CollectiveCurve const* GroupNetwork::curve_of(topology::Collective collective,
                                              topology::GroupShape const& shape) const {
    auto const found = measured_.find({collective, shape});
    return found == measured_.end() ? nullptr : &found->second;
}

double GroupNetwork::all_reduce_s(GroupPlace const& place, double bytes) const {
    topology::GroupShape const& shape = place.shape;
    if (shape == shape_) return shared_s(whole_, place.at_once, bytes);
    if (auto const* curve = curve_of(Collective::all_reduce, shape)) {
        return shared_s(*curve, place.at_once, bytes);
    }
    Links const each = links();
    double const ranks = shape.ranks;
    double const start = 2 * std::log2(ranks) * each.latency_s;
    return start + place.at_once * 2 * (ranks - 1) / ranks * bytes / each.bytes_per_s;
}

double GroupNetwork::seconds(Collective collective, GroupPlace const& place, double bytes) const {
    if (collective == Collective::all_reduce) return all_reduce_s(place, bytes);
    for (Collective const each : {collective, Collective::all_gather}) {
        if (auto const* curve = curve_of(each, place.shape)) {
            return shared_s(*curve, place.at_once, bytes);
        }
    }
    return all_reduce_s(place, bytes) / 2;
}

double GroupNetwork::hop_s(GroupPlace const& place, double bytes) const {
    if (auto const* curve = curve_of(Collective::all_to_all, place.shape)) {
        double const ranks = place.shape.ranks;
        return shared_s(*curve, place.at_once, bytes * ranks / (ranks - 1));
    }
    Links const each = links();
    return each.latency_s + bytes * place.at_once / each.bytes_per_s;
}

}  // namespace osora::plan
