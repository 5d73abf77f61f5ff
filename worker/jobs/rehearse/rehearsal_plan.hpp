// The actions of a rank in one rehearsed step, as a list: compute until a time, then a collective.
// Pure; made only from parameter sizes, in the order of trainer and GradReducer.
#pragma once

#include "plan/rehearsal.hpp"
#include "worker/parallel/sharding/bucket_layout.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace osora::worker {

struct ParameterSize {
    std::string name;        // in the state dict: identifies its block
    std::int64_t items = 0;  // number of values
};

enum class RehearsalKind {
    forward,     // compute until `until_s`
    backward,    // compute until `until_s`
    arrive,      // compute is finished
    all_reduce,  // starts one of `bucket`
    wait,        // for all that were started
    barrier,
    optimizer  // compute for `seconds`, after the gradients arrived
};

struct RehearsalOp {
    RehearsalKind kind = RehearsalKind::forward;
    double until_s = 0;      // forward, backward: since the batch was there; optimizer: length
    std::size_t bucket = 0;  // all_reduce
    bool blocking = false;   // all_reduce: wait for it before the next one starts
    std::int64_t items = 0;  // all_reduce
    friend bool operator==(RehearsalOp const&, RehearsalOp const&) = default;
};

struct RehearsalPlan {
    ReduceWay way = ReduceWay::overlapped;
    std::vector<std::int64_t> bucket_items;  // empty: one rank, no collectives
    /// Share of the last backward pass after which a bucket is full and all before it have started;
    /// ascending, the last is 1.
    std::vector<double> full_at;

    /// The stop vote runs in parallel, as in the training loop.
    [[nodiscard]] std::vector<RehearsalOp> step(plan::BucketCompute const& compute,
                                                int grad_accum_steps) const;
};

struct RehearsalOptions {
    int world_size = 1;
    double grad_bucket_mib = 25;
    ReduceWay way = ReduceWay::overlapped;
    std::int64_t item_bytes = 4;  // gradients are fp32
};
/// `parameters` in forward order. Each block ("spatial_blocks.3.") takes the same share of
/// backward, and its gradients appear in proportion to their sizes; parameters outside the blocks
/// cost nothing. Without blocks all go by size.
[[nodiscard]] RehearsalPlan make_rehearsal_plan(std::span<ParameterSize const> parameters,
                                                RehearsalOptions const& options);

}  // namespace osora::worker
