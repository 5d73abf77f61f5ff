// The ops of one training step for a worker of each stage, with the times in every step and
// data-parallel rank. Pure.
#pragma once

#include "base/result.hpp"
#include "db/analysis/whatif/op_trace.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::db::whatif {

/// An op of the pattern: each kept step has it once on every dp rank.
struct OpSlot {
    int stage = 0;
    OpKind kind = OpKind::gc;
    int seq_id = 0;
    int model_chunk = -1;
    // On dp rank 0 of the first kept step, which defines the order for all.
    double start_s = 0, end_s = 0;
};

struct StepOps {
    std::vector<OpSlot> slots;  // by stage, kind, seq_id
    std::vector<std::int64_t> steps;
    int dp_size = 1, pp_size = 1;  // as in the trace
    /// [slot][step][dp rank], contiguous.
    std::vector<double> start_s, duration_s;
    std::vector<std::int64_t> steps_left_out;  // other ops than most steps, or an op with two times

    /// Steps times dp ranks: the stride between slots.
    [[nodiscard]] std::size_t lanes() const {
        return steps.size() * static_cast<std::size_t>(dp_size);
    }
};

/// The pattern is the set of ops that most steps have on all dp ranks. The same row again is one
/// op, an op with two times leaves out its step. invalid_input: no step has the same ops on all of
/// them, or a stage has no compute.
[[nodiscard]] Result<StepOps> collect_steps(OpTrace trace);

}  // namespace osora::db::whatif
