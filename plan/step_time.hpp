// The time of a step on calibrated hardware: matrix products at a measured rate, memory traffic, a
// floor per operator, exposed all_reduce, optimizer, loader. Pure. The formulas are scaled by the
// calibration's real model steps, if it has some. docs/rfc/034 has those of a GPU.
#pragma once

#include "plan/activation_choice.hpp"
#include "plan/buckets/shapes.hpp"
#include "plan/calibration.hpp"
#include "plan/layout/divisibility.hpp"
#include "plan/model/model_description.hpp"
#include "plan/network/group_network.hpp"

#include <string>
#include <vector>

namespace osora::plan {

class PassCorrection;

struct StepQuery {
    ModelShape shape;
    BucketKey bucket = {};
    int micro_batch_size = 1;
    int grad_accum_steps = 1;
    int dp_size = 1;
    int sp_size = 1;  // ranks that share the tokens of a sample
    SpKind sp_kind = SpKind::ulysses;
    int tp_size = 1;         // ranks that share linear layers
    int pp_size = 1;         // ranks that share blocks
    int virtual_stages = 1;  // block groups of each of these
    bool eager = false;      // eager 1F1B (worker/train/pass_order), with one virtual stage
    std::vector<std::int64_t> run_ends = {};  // of these; empty: by the work of this bucket
    [[nodiscard]] int ranks() const { return dp_size * sp_size * tp_size * pp_size; }
    /// Ranks that share one copy of what ZeRO divides.
    [[nodiscard]] int shards() const { return shard_size > 0 ? shard_size : ranks(); }
    int ranks_per_node = 0;  // 0: all ranks are on one node
    /// Stages hold consecutive ranks: whole nodes, or several stages a node.
    [[nodiscard]] bool stages_cross_nodes() const {
        return pp_size > 1 && ranks_per_node > 0 && ranks() / pp_size >= ranks_per_node;
    }
    std::string precision = "fp32";
    std::string reduce_dtype = {};  // of gradients between ranks; empty: as precision
    int lora_rank = 0;              // > 0: only adapters are trained
    int zero_stage = 0;
    int shard_size = 0;                    // ranks that share what ZeRO divides; 0: all of them
    std::vector<std::string> freeze = {};  // optim.freeze: prefixes of frozen weights
    ActivationChoice activations = {};
    /// Between these ranks on their nodes; none: they are on one node, or it was not measured.
    GroupNetwork const* network = nullptr;
    PassCorrection const* measured = nullptr;  // by earlier runs; none: there are none
    int threads = 1;                           // of a CPU rank
    int cores = 1;                             // of the node
    bool gpu = false;
    bool fused_kernels = true;  // of a GPU: osora's (docs/rfc/034), where the shapes fit them
    int grad_bucket_mib = 25;
    bool overlap = true;
    bool per_parameter = false;  // debug.collectives: one blocking all_reduce per parameter
    int num_workers = 1;
    double decode_s_per_sample = 0;  // of one decoding thread
};
struct StepTime {
    double compute_s = 0;  // forward and backward of all micro-batches
    double optimizer_s = 0;
    double exposed_comm_s = 0;  // collectives that forward and backward do not hide
    double bubble_s = 0;        // of the pipeline: (pp_size - 1) passes of a stage
    double loader_s = 0;        // waiting for batches
    [[nodiscard]] double total_s() const {
        return compute_s + optimizer_s + exposed_comm_s + bubble_s + loader_s;
    }
};
[[nodiscard]] StepTime step_time(StepQuery const& query, Calibration const& calibration);
/// With the seconds that a rank computes in a step, all micro-batches together; nobody waits for
/// data.
[[nodiscard]] StepTime step_time_of_work(StepQuery const& query, Calibration const& calibration,
                                         double forward_s, double backward_s, double optimizer_s);

/// The part of a step's collectives that passes with a backward of `backward_s` do not hide: the
/// all_reduce of all gradients after the last pass; with ZeRO half of that (reduce_scatter) after
/// it and half (all_gather) before the next forward pass, for each pass in stages 2 and 3, where
/// stage 3 gathers twice; of several copies of what ZeRO divides also an all_reduce between them.
[[nodiscard]] double exposed_comm_s(StepQuery const& query, Calibration const& calibration,
                                    double backward_s);

/// Forward and backward of one micro-batch on separate cores.
[[nodiscard]] double pass_time_s(StepQuery const& query, Calibration const& calibration);
/// The pass that was measured; not_found, invalid_input: its model or bucket is unknown.
[[nodiscard]] Result<StepQuery> measured_query(ModelStep const& measured, bool gpu);
/// Measured over predicted for the calibration's model steps (their median; those with this thread
/// count are preferred); 1 without any.
[[nodiscard]] double pass_time_scale(Calibration const& calibration, int threads);

/// fp32 rate at an inner dimension, between the measured sizes and thread counts.
[[nodiscard]] double matmul_gflops(Calibration const& calibration, int threads, int size);
/// Ring all_reduce of `bytes` over `ranks` ranks of a node, from the measured fit.
[[nodiscard]] double all_reduce_s(AllReduceFit const& fit, int ranks, double bytes);
/// >= 1: how much slower a CPU rank computes because ranks * threads exceed the cores.
[[nodiscard]] double core_sharing(StepQuery const& query);

/// Relative half width of the predicted step time. `network_known`: the ranks are on one node, or a
/// probe measured the links between them.
[[nodiscard]] double step_time_error(Calibration const& calibration, bool shares_cores,
                                     bool network_known = true);

}  // namespace osora::plan
