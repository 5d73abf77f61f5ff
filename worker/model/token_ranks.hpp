// Ranks that share the tokens of each sample: each keeps a run of the tokens through the network.
// For attention they exchange their tokens for all tokens of a share of the heads
// (DeepSpeed-Ulysses, arXiv 2309.14509), or they pass keys and values on in a ring (ring attention,
// arXiv 2310.01889).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace osora::worker {

/// Ranks in a ring: each sends to the next one, the last to rank 0. Throws as TokenRanks does.
class RingRanks {
public:
    /// A transfer that has been started. Without wait() nobody may rely on it.
    class Passing {
    public:
        virtual ~Passing() = default;
        /// Until `into` has arrived and `values` may be written again (on a GPU: for what this
        /// thread queues from now on).
        virtual void wait() = 0;
    };

    virtual ~RingRanks() = default;
    /// Starts to send `values` to the next rank and to receive `into` from the one before; both
    /// contiguous, and kept until they are done. A tensor without items is not sent. All ranks
    /// start the same passes in the same order.
    [[nodiscard]] virtual std::unique_ptr<Passing> pass_on(at::Tensor const& values,
                                                           at::Tensor const& into) = 0;
};

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
    /// The same ranks, if attention passes keys and values on in a ring; else null.
    [[nodiscard]] virtual RingRanks* ring() { return nullptr; }
};

}  // namespace osora::worker
