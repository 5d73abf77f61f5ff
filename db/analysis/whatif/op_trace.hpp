// Traced ops of training steps: rows `step,dp_rank,stage,op,seq_id,model_chunk,mb_id,start_us,
// dur_us` (the trace format of ByteDance-Seed/StragglerAnalysis as CSV). Pure.
#pragma once

#include "base/result.hpp"
#include "db/analysis/whatif/job_shape.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::db::whatif {

enum class OpKind : std::uint8_t {
    forward_compute,
    backward_compute,
    forward_send,
    forward_recv,
    backward_send,
    backward_recv,
    params_all_gather,
    grads_reduce_scatter,
    separate_grads_all_reduce,
    layernorm_grads_all_reduce,
    embedding_grads_all_reduce,
    optimizer_clip_main_grad,
    optimizer,
    gc
};
constexpr int kOpKinds = 14;

/// As in a trace: "forward-compute".
[[nodiscard]] std::string_view name_of(OpKind kind);
/// Sends and receives of a direction are one type, "forward-pp-comm"; other types have the names of
/// the trace.
[[nodiscard]] std::string_view type_of(OpKind kind);
[[nodiscard]] bool is_compute(OpKind kind);  // forward or backward
/// Whether its time is a transfer, not work: its typical value is a median, not a mean.
[[nodiscard]] bool is_communication(OpKind kind);

/// Times of a transfer are differences between two machines' clocks: they are kept down to minus
/// this, so that a median is not biased upwards; below it the transfer counts as nothing.
constexpr double kClockError_s = 0.01;

struct TraceOp {
    std::int64_t step = 0;
    int dp_rank = 0, stage = 0;
    OpKind kind = OpKind::gc;
    int seq_id = 0;        // counts the ops of a kind on a worker in a step
    int model_chunk = -1;  // of its stage; -1: does not apply
    double start_s = 0;
    double duration_s = 0;  // at least 0; for communication, if recorded without the wait, see
                            // above
    friend bool operator==(TraceOp const&, TraceOp const&) = default;
};

struct OpTrace {
    std::vector<TraceOp> ops;
    int rows_unreadable = 0;                              // their steps then lack an op
    std::string first_fault;                              // "line 7: negative dur_us"
    std::map<std::string, int, std::less<>> unknown_ops;  // rows with op types that no graph has
};

/// invalid_input: no header, a column is missing, no row can be read, a dp_rank or stage that
/// `shape` does not have, combined send-receive ops.
[[nodiscard]] Result<OpTrace> read_op_trace(std::string_view csv, JobShape const& shape);

}  // namespace osora::db::whatif
