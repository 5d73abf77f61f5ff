// Ranks that share the blocks of a network (pipeline parallel): each runs some of them, in
// sequence. What is sent between stages is part of the graph: backward sends gradients back.
// Conditions are what all blocks read beside their tokens (times, captions): the first stage makes
// them, and each stage sends them to the next once per micro-batch.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/model/token_exchange.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <vector>

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
/// stage r has the runs r, r + p, ... of p v.
class StageCut {
public:
    /// `ends`: of each run (plan/layout/stage_cut); empty: the runs have equally many blocks, the
    /// first ones one more if they do not divide.
    StageCut(StageRanks const* stages, std::int64_t blocks, std::vector<std::int64_t> ends);
    /// Of the next forward pass.
    [[nodiscard]] StageSpan span() const;
    [[nodiscard]] Place place_of(std::int64_t block) const;
    /// Of embedders, which only the first stage has, and of the final layer, only the last.
    [[nodiscard]] Place place_of_first() const;
    [[nodiscard]] Place place_of_last() const;

private:
    [[nodiscard]] StageSpan span_of(int virtual_stage) const;

    StageRanks const* stages_;
    std::int64_t blocks_;
    std::vector<std::int64_t> ends_;
};

/// What a run of blocks begins with.
struct StageInput {
    at::Tensor x;
    std::vector<at::Tensor> conditions;
};

/// This stage's tokens and conditions from the run of blocks before, and to the one after it. A
/// stage with several runs keeps the conditions of its first run for the others. Micro-batches must
/// pass each run in the same order.
class StageLink {
public:
    using Sizes = std::vector<std::int64_t>;

    /// Null: one rank has all blocks; then neither function may be called.
    explicit StageLink(StageRanks* stages);
    /// Receives tensors of these sizes; backward sends their gradients there. Not of the network's
    /// first run.
    [[nodiscard]] StageInput receive(Sizes const& x, std::vector<Sizes> const& conditions,
                                     at::TensorOptions const& options);
    /// Sends x, and the conditions if the next run needs them. Returns a scalar 0 from which
    /// backward begins: gradients are those that the next stage sends, whatever the scalar is
    /// multiplied by. Not of the network's last run.
    [[nodiscard]] at::Tensor send(at::Tensor const& x, std::vector<at::Tensor> const& conditions);

private:
    StageRanks* stages_;
    /// For each run, the conditions of micro-batches that have not begun it: leaves of its graph,
    /// whose gradients the backward pass of the first run adds to its own.
    std::vector<std::deque<at::Tensor>> kept_;
};

}  // namespace osora::worker
