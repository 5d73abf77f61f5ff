// Times of collectives over groups of ranks: latency by hops, bytes by the slowest link. Pure.
// Ranks are numbered tp innermost, then sp, dp, pp (Megatron-LM's order), node after node.
#pragma once

#include "plan/evaluate/rows.hpp"

namespace osora::plan {

/// `ranks` ranks that are `stride` apart.
struct RankGroup {
    double ranks = 1;
    double in_node = 1;  // of them on each node
    double rings = 1;    // groups of this kind that share a node's NICs
    [[nodiscard]] double nodes() const { return ranks / in_node; }
};
[[nodiscard]] RankGroup rank_group(std::int64_t ranks, std::int64_t stride,
                                   std::int64_t gpus_per_node);

/// The links between the ranks; times in seconds, bytes of one rank's whole buffer.
class Links {
public:
    explicit Links(EvaluateRow const& row);

    /// Ring: 2 (n - 1)/n of the bytes pass the slowest link, over 2 (n - 1) hops; between nodes the
    /// better of it and a tree of log2(nodes) levels, whose links carry a quarter more.
    [[nodiscard]] double all_reduce_s(RankGroup const& group, double bytes) const;
    /// all_gather or reduce_scatter: half of a ring all_reduce. NCCL has no tree for them.
    [[nodiscard]] double gather_s(RankGroup const& group, double bytes) const;
    /// The same in two steps, inside each node and then between nodes, each rank on its own NIC; or
    /// in one step if that is faster. Megatron's optimizer instances.
    [[nodiscard]] double stepped_gather_s(RankGroup const& group, double bytes) const;
    /// `bytes` that a rank sends to all others in total.
    [[nodiscard]] double all_to_all_s(RankGroup const& group, double bytes) const;
    /// A message to the rank `stride` further, sent by one rank of each GPU.
    [[nodiscard]] double message_s(std::int64_t stride, double bytes) const;

private:
    [[nodiscard]] double bytes_per_s(RankGroup const& group) const;
    [[nodiscard]] double hops_s(RankGroup const& group) const;

    CostConstants const& constants_;
    double link_ = 1;                 // bytes/s
    double nic_ = 1;                  // bytes/s of a GPU
    std::int64_t gpus_per_node_ = 1;  // GPUs joined by NVLink
    double sharing_ = 0;              // exponent of the number of rings that share NICs
    double hosts_ = 1;                // the domains of these GPUs
};

}  // namespace osora::plan
