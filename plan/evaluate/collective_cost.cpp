// Alpha-beta with hops, as in NCCL's own model (src/graph/tuning.cc): the latency of a ring is the
// sum over its links, its bandwidth that of the slowest link.
#include "plan/evaluate/collective_cost.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {
constexpr double kTreeBytes = 1.25;  // NCCL's trees keep 0.8 to 0.9 of the ring's bandwidth
}  // namespace

RankGroup rank_group(std::int64_t ranks, std::int64_t stride, std::int64_t gpus_per_node) {
    std::int64_t const in_node = std::clamp<std::int64_t>(gpus_per_node / stride, 1, ranks);
    return {
        .ranks = static_cast<double>(ranks),
        .in_node = static_cast<double>(in_node),
        .rings = std::max(1.0, static_cast<double>(gpus_per_node) / static_cast<double>(in_node))};
}

Links::Links(EvaluateRow const& row)
    : constants_(row.constants),
      link_(row.hardware.link_gbps * 1e9),
      nic_(row.nic_gbit_per_gpu * 1e9 / 8),
      gpus_per_node_(row.linked_gpus()),
      sharing_(row.constants.nic_sharing * row.hardware.nic_sharing_share),
      hosts_(static_cast<double>(row.linked_gpus()) / static_cast<double>(row.gpus_per_node)) {}

double Links::bytes_per_s(RankGroup const& group) const {
    double const link = link_ * constants_.link_efficiency;
    if (group.nodes() <= 1) return link;
    // A ring through a node uses as many NICs as it has ranks there.
    double const rings = std::max(1.0, group.rings / hosts_);
    double const share = constants_.nic_efficiency / std::pow(rings, sharing_);
    return std::min(link, nic_ * group.in_node * share);
}

double Links::hops_s(RankGroup const& group) const {
    double const across = std::max(0.0, std::ceil(group.nodes()) - 1);
    double const inside = group.ranks - 1 - across;
    return 1e-6 * (inside * constants_.link_hop_us + across * constants_.nic_hop_us);
}

double Links::gather_s(RankGroup const& group, double bytes) const {
    if (group.ranks <= 1) return 0;
    double const share = (group.ranks - 1) / group.ranks;
    return 1e-6 * constants_.link_latency_us + hops_s(group) + share * bytes / bytes_per_s(group);
}

double Links::stepped_gather_s(RankGroup const& group, double bytes) const {
    double const whole = gather_s(group, bytes);
    if (group.nodes() <= 1 || group.in_node <= 1) return whole;
    RankGroup const inside{.ranks = group.in_node, .in_node = group.in_node, .rings = 1};
    RankGroup const across{
        .ranks = std::ceil(group.nodes()), .in_node = 1, .rings = group.in_node * group.rings};
    return std::min(whole, gather_s(inside, bytes) + gather_s(across, bytes / group.in_node));
}

double Links::all_reduce_s(RankGroup const& group, double bytes) const {
    if (group.ranks <= 1) return 0;
    double const start = 1e-6 * constants_.link_latency_us;
    double const wire = 2 * (group.ranks - 1) / group.ranks * bytes / bytes_per_s(group);
    double const ring = start + 2 * hops_s(group) + wire;
    if (group.nodes() <= 1) return ring;
    double const levels = std::ceil(std::log2(std::ceil(group.nodes())));
    double const tree_hops =
        2e-6 * (levels * constants_.nic_hop_us + (group.in_node - 1) * constants_.link_hop_us);
    return std::min(ring, start + tree_hops + kTreeBytes * wire);
}

double Links::all_to_all_s(RankGroup const& group, double bytes) const {
    if (group.ranks <= 1) return 0;
    double const link = link_ * constants_.link_efficiency;
    double const start = 1e-6 * (constants_.link_latency_us + constants_.link_hop_us);
    double const other_nodes = group.ranks - group.in_node;
    double const near = bytes * (group.in_node - 1) / group.ranks / link;
    if (other_nodes <= 0) return start + near;
    double const nic = nic_ * constants_.nic_efficiency;
    return start + 1e-6 * constants_.nic_hop_us +
           std::max(near, bytes * other_nodes / group.ranks / nic);
}

double Links::message_s(std::int64_t stride, double bytes) const {
    double const start = 1e-6 * constants_.stage_latency_us;
    if (stride < gpus_per_node_) return start + bytes / (link_ * constants_.link_efficiency);
    return start + bytes / (nic_ * constants_.nic_efficiency);
}

}  // namespace osora::plan
