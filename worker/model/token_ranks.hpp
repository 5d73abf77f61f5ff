// Ranks that share the tokens of each sample (sequence parallel as DeepSpeed-Ulysses, arXiv
// 2309.14509): each keeps a run of the tokens through the network, and for attention exchanges them
// for all tokens of its share of the heads.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace osora::worker {

/// How ranks exchange values; worker/parallel implements it. Throws c10::DistError when a peer is
/// gone. All ranks make the same calls in the same order, in forward and in backward.
class TokenRanks {
public:
    virtual ~TokenRanks() = default;
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] virtual int rank() const = 0;
    /// `values` (1-D, contiguous): send[i] items for rank i, in rank order. Returns receive[i]
    /// items from each rank i likewise.
    [[nodiscard]] virtual at::Tensor all_to_all(at::Tensor const& values,
                                                std::vector<std::int64_t> const& send,
                                                std::vector<std::int64_t> const& receive) = 0;
    /// Each rank's tensor (equal sizes, contiguous) under a new first dimension.
    [[nodiscard]] virtual at::Tensor all_gather(at::Tensor const& own) = 0;
};

}  // namespace osora::worker
