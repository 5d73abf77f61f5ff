// What a rank does in one rehearsed step, as a list: own work until a moment, then a collective.
// Pure; made from parameter sizes alone, in the order in which trainer and GradReducer go.
#pragma once

#include "plan/rehearsal.hpp"
#include "worker/parallel/sharding/bucket_layout.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace osora::worker {

struct ParameterSize {
    std::string name;        // of the state dict: its block is found by it
    std::int64_t items = 0;  // numbers
};

enum class RehearsalKind {
    forward,     // own work until `until_s`
    backward,    // own work until `until_s`
    arrive,      // own work is done
    all_reduce,  // starts one of `bucket`
    wait,        // for all that were started
    barrier,
    optimizer  // own work for `seconds`, once the gradients are there
};

struct RehearsalOp {
    RehearsalKind kind = RehearsalKind::forward;
    double until_s = 0;      // forward, backward: since the batch was there; optimizer: length
    std::size_t bucket = 0;  // all_reduce
    bool blocking = false;   // all_reduce: waited for before the next one starts
    std::int64_t items = 0;  // all_reduce
    friend bool operator==(RehearsalOp const&, RehearsalOp const&) = default;
};

struct RehearsalPlan {
    ReduceWay way = ReduceWay::overlapped;
    std::vector<std::int64_t> bucket_items;  // empty: one rank, no collectives
    /// Share of the last backward pass after which a bucket is full and all before it have
    /// started; ascending, the last is 1.
    std::vector<double> full_at;

    /// The stop vote runs beside these, as in the training loop.
    [[nodiscard]] std::vector<RehearsalOp> step(plan::BucketCompute const& compute,
                                                int grad_accum_steps) const;
};

struct RehearsalOptions {
    int world_size = 1;
    double grad_bucket_mib = 25;
    ReduceWay way = ReduceWay::overlapped;
    std::int64_t item_bytes = 4;  // gradients are fp32
};
/// `parameters` in forward order. Each block ("spatial_blocks.3.") takes the same share of backward
/// and its gradients appear in the share of their numbers; what lies outside the blocks costs
/// nothing. Without blocks all go by their numbers.
[[nodiscard]] RehearsalPlan make_rehearsal_plan(std::span<ParameterSize const> parameters,
                                                RehearsalOptions const& options);

}  // namespace osora::worker
