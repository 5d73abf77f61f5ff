// NCCL's own cost model (src/graph/tuning.cc of 2.30.7): latency and bandwidth of every algorithm
// and protocol that NCCL would consider, their time for a size, and its choice. Needs the channels
// found by NCCL's search. Absolute times are 1.2 to 2x too fast between 1 and 256 MiB: use ratios.
// Equations and sources: docs/rfc/006. Pure.
#pragma once

#include "topology/collectives/collective.hpp"
#include "topology/nccl/nccl_constants.hpp"

#include <optional>
#include <string>
#include <vector>

namespace osora::topology {

/// NCCL's classes of paths, nearest first.
enum class NcclPath { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys };

/// Pattern of a tree that sends all of a node's traffic through one GPU's NIC
/// (NCCL_TOPO_PATTERN_TREE).
constexpr int kPlainTreePattern = 3;

/// Result of NCCL's search for one algorithm.
struct NcclGraph {
    int pattern = 0;  // NCCL_TOPO_PATTERN_*
    int channels = 0;
    double intra_gbps = 0, inter_gbps = 0;  // a channel, GB/s
    NcclPath intra = NcclPath::loc, inter = NcclPath::loc;
    bool same_channels = false;
    double inter_latency_us = 0;  // of the NIC; InfiniBand and sockets report 0
    friend bool operator==(NcclGraph const&, NcclGraph const&) = default;
};

/// A communicator in the model.
struct NcclGroup {
    std::string topology;  // name of its machines
    GroupShape shape;
    int cpu_arch = 1;    // 1 x86, 2 POWER, 3 ARM
    int cpu_vendor = 1;  // 1 Intel, 2 AMD, 3 Zhaoxin, 4 mixed
    int min_compute_capability = 90;
    int channels = 0;  // of the communicator: twice the search's
    std::optional<NcclGraph> ring, tree, nvls, collnet_direct, collnet_chain;
};

/// A way to run a collective.
struct NcclCost {
    Collective collective = Collective::all_reduce;
    NcclAlgo algo = NcclAlgo::ring;
    NcclProto proto = NcclProto::simple;
    double latency_us = 0;
    double algbw_gbps = 0;  // GB/s of the collective's size, before corrections by size
};

/// The ways that NCCL enables by default, in its order: AllReduce, AllGather, ReduceScatter,
/// Broadcast, Reduce; then algorithms; then protocols. Empty for one rank.
[[nodiscard]] std::vector<NcclCost> nccl_costs(NcclGroup const& group,
                                               NcclConstants const& constants);

/// Time in us of one operation of `size_bytes`.
[[nodiscard]] double nccl_time_us(NcclGroup const& group, NcclCost const& cost,
                                  std::int64_t size_bytes);

/// All ways for `collective`, fastest first: the first is NCCL's choice.
struct NcclTime {
    NcclCost cost;
    double time_us = 0;
};
[[nodiscard]] std::vector<NcclTime> nccl_ranking(NcclGroup const& group,
                                                 NcclConstants const& constants,
                                                 Collective collective, std::int64_t size_bytes);

/// "Ring/Simple 812 us; next Tree/Simple 904 us, Ring/LL128 1,010 us"; "" for an empty ranking.
[[nodiscard]] std::string explain(std::vector<NcclTime> const& ranking);

}  // namespace osora::topology
