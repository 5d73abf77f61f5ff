// Traces of pipelines that never ran, for tests of the what-if replay: durations from a seed, times
// by brute force. Here micro-batch and model chunk say who feeds whom; the code under test must
// find it by order.
#pragma once

#include "db/analysis/whatif/op_trace.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace osora::db::whatif::test {

struct PipelineShape {
    int pp_size = 2, dp_size = 2, vpp_size = 1;
    int micro_batches = 4;  // a multiple of pp_size when vpp_size > 1
    bool overlap = false;   // gradients are reduced during backward
};

/// An op of a worker; `tag` is the micro-batch of compute, sends and receives.
struct MadeOp {
    OpKind kind = OpKind::gc;
    int dp_rank = 0, stage = 0, seq_id = 0;
    int model_chunk = -1, micro_batch = -1;
    double duration_s = 0;  // of a transfer: after the start of its last side
    std::vector<std::size_t> after;
    std::vector<std::size_t> group;  // ends together with these, itself included; empty: alone
    double start_s = 0, end_s = 0;
};

/// One step of a job, one forward one backward (interleaved when vpp_size > 1, as Megatron-LM).
class MadeStep {
public:
    explicit MadeStep(PipelineShape const& shape);

    /// Seconds of each op.
    void set_durations(std::function<double(MadeOp const&)> const& duration_s);
    /// Starts and ends, by relaxation until nothing moves; the time of the step.
    double play();

    std::vector<MadeOp> ops;

private:
    void add_worker(int dp_rank, int stage);
    std::vector<std::size_t> add_pipeline(int dp_rank, int stage);
    void add_end_of_step(int dp_rank, int stage, std::size_t last_compute);
    std::size_t add(OpKind kind, int dp_rank, int stage, std::vector<std::size_t> after);
    void connect();
    PipelineShape shape_;
    std::map<std::vector<int>, std::size_t> sides_;  // sends and receives by what they move
};

/// As ops-*.csv: rows of these steps, numbered from 10 on.
[[nodiscard]] std::string csv_of(std::vector<MadeStep> const& steps);
[[nodiscard]] JobShape job_shape_of(PipelineShape const& shape);

}  // namespace osora::db::whatif::test
