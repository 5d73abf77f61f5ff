// Ranks that share the blocks of a network (pipeline parallel): each runs some of them, in
// sequence. What is sent between stages is part of the graph: backward sends gradients back.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/model/token_exchange.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace osora::worker {

/// Communication of neighbouring stages; implemented by worker/parallel. Throws c10::DistError if a
/// peer is gone. What a stage sends arrives in order; sending does not wait. The last stage's next
/// is the first one, if stages have several runs of blocks.
class StageRanks {
public:
    virtual ~StageRanks() = default;
    [[nodiscard]] virtual int size() const = 0;
    [[nodiscard]] virtual int rank() const = 0;  // of this stage
    /// Number of block groups per stage (virtual stages), and the one of the next forward pass.
    [[nodiscard]] virtual int virtual_stages() const = 0;
    [[nodiscard]] virtual int virtual_stage() const = 0;
    virtual void send_forward(at::Tensor const& x) = 0;
    virtual void receive_forward(at::Tensor const& into) = 0;
    virtual void send_backward(at::Tensor const& gradient) = 0;
    virtual void receive_backward(at::Tensor const& into) = 0;
};

/// Blocks that run in sequence on one rank.
struct StageSpan {
    std::int64_t begin = 0, end = 0;
    bool first = true, last = true;  // of the network's
};

/// Which of `blocks` this rank has: all of them if `stages` is null. With p stages of v runs each,
/// stage r has the runs r, r + p, ... of p v; the first runs have one block more if they do not
/// divide.
class StageCut {
public:
    StageCut(StageRanks const* stages, std::int64_t blocks) : stages_(stages), blocks_(blocks) {}
    /// Of the next forward pass.
    [[nodiscard]] StageSpan span() const;
    [[nodiscard]] Place place_of(std::int64_t block) const;

private:
    [[nodiscard]] StageSpan span_of(int virtual_stage) const;

    StageRanks const* stages_;
    std::int64_t blocks_;
};

/// Receives from the previous stage, with these sizes; backward sends its gradient there.
[[nodiscard]] at::Tensor from_previous(StageRanks& stages, at::IntArrayRef sizes,
                                       at::TensorOptions const& options);
/// Sends x. Returns a scalar 0 from which backward begins: the gradient of x is the one that the
/// next stage sends, whatever the scalar is multiplied by.
[[nodiscard]] at::Tensor to_next(StageRanks& stages, at::Tensor const& x);

}  // namespace osora::worker
