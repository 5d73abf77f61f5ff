// Ring attention (arXiv 2310.01889): keys and values of all ranks pass every rank, which attends to
// them block by block; backward passes them again, with the gradients that ranks have added so far.
// Exact: the same sums in another order. Private to worker/model.
#pragma once

#include "worker/model/token_ranks.hpp"

#include <vector>

namespace osora::worker {

struct RingPlace {
    RingRanks* ring = nullptr;
    int rank = 0;
    std::vector<std::int64_t> tokens;  // of each rank; some may have none
};

/// q, k, v of this rank's tokens, (groups, tokens, heads, head_dim) -> scaled dot product attention
/// to the tokens of all ranks, of the same shape. Each rank receives, of n ranks: n - 1 blocks of
/// keys and values in forward; in backward the same again, and n - 1 blocks of their gradients,
/// which are summed in fp32 (fp64 of fp64). For backward it keeps q, k, v, the result and a number
/// for each query and head.
[[nodiscard]] at::Tensor ring_attention(RingPlace const& place, at::Tensor const& q,
                                        at::Tensor const& k, at::Tensor const& v);

}  // namespace osora::worker
