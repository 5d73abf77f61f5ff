// The planner's decisions for a run, with their reasons: printed by `osora plan --json` (schema
// osora.plan/1), applied by the worker, compared with measurements by the report.
#pragma once

#include "plan/layout/rank_map.hpp"

#include <boost/describe.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::plan {

/// LayoutPlan::pp_schedule, parallel.pp_schedule.
constexpr char const* k1f1b = "1f1b";
constexpr char const* kEager1f1b = "eager_1f1b";

struct BucketPlan {
    std::string resolution;
    int num_frames = 1;
    int height = 0, width = 0;  // pixels of a training sample (the most common aspect ratio)
    int micro_batch_size = 1;   // samples of one rank in one forward
    int grad_accum_steps = 1;
    int global_batch_size = 1;    // micro_batch_size * grad_accum_steps * dp_size
    double gflop_per_sample = 0;  // forward and backward
    double tokens_per_sample = 0;
    double step_time_s = 0;      // predicted
    double peak_memory_gib = 0;  // predicted, of one rank's tensors
    double compute_s = 0;        // predicted: forward and backward of all micro-batches
    double optimizer_s = 0;      // predicted
};
struct LayoutPlan {
    int tp_size = 1, pp_size = 1, sp_size = 1, dp_size = 1;
    int virtual_stages = 1;  // number of block groups on each pipeline stage
    [[nodiscard]] int ranks() const { return tp_size * pp_size * sp_size * dp_size; }
    std::string pp_schedule = {};  // of a pipeline's passes: 1f1b | eager_1f1b; empty: no pipeline,
                                   // interleaved (virtual_stages), or an old plan: 1f1b
    /// Of each run of blocks, the end (layout/stage_cut); run i is on stage i modulo pp_size.
    /// Empty: pp_size is 1, or an old plan: runs have equally many blocks.
    std::vector<std::int64_t> run_ends = {};
    std::string sp_kind = {};  // ulysses | ring; empty: sp_size is 1, or an old plan: ulysses
    int zero_stage = 0;
    int shard_size = 0;  // ranks that share what ZeRO divides; 0: all
    std::string recompute = "none";
    std::string activation_store = "none";
    bool offload_frozen = false;     // blocks' frozen weights are in host memory, two on the device
    std::string precision = "fp32";  // of forward and backward
    int grad_bucket_mib = 25;
    std::string reduce_dtype = {};  // of gradients between ranks; empty: that of the weights
    int num_workers = 1;            // loader threads per rank
    int prefetch_factor = 2;        // batches
    int threads_per_rank = 1;
    int vae_micro_batch_size = 0;     // frames that the 2-D VAE processes at a time; 0: not planned
    int vae_micro_frame_size = 0;     // frames that the temporal VAE processes at a time; 0: not
                                      // planned
    std::vector<BucketPlan> buckets;  // in the order of the run file
};
/// Means over the buckets as the schedule mixes them, except the peaks.
struct Prediction {
    double step_time_s = 0;
    double step_time_error = 0;  // relative half width according to the calibration, 0.25 = 25 %
    double compute_s = 0, exposed_comm_s = 0, bubble_s = 0, loader_s = 0;
    double rank_wait_s = 0;   // for the slowest rank, where ranks train different buckets in a step
    double rank_balance = 1;  // longest work of a rank over the mean; 1: all take equally long
    double peak_memory_gib = 0;   // of one rank's tensors, worst bucket
    double memory_limit_gib = 0;  // that one rank's tensors may take; 0: not known
    std::string peak_bucket;      // "64 x 8"
    double host_memory_gib = 0;   // of one node: loaders and, on CPU ranks, everything
    double samples_per_s = 0;
    std::int64_t clips = 0;  // job = "score": rows of the list
    double total_s = 0;      // job = "score": of all clips; 0: not predicted
};
/// A global batch of the first bucket, the others at equal cost, on the layout of the plan. Means
/// over the buckets, as above, without loaders.
struct ExpectedBatch {
    std::int64_t global_batch_size = 0;
    double exposed_comm_share = 0;  // of a step
    double step_time_s = 0;
    double samples_per_s = 0;
};
struct Alternative {
    LayoutPlan layout;
    Prediction predicted;
};
struct Rejection {
    LayoutPlan layout;
    std::string reason;
};
struct NcclSetting {
    std::string name, value;
    std::string origin;  // "run file: run.toml:41", "environment", "probe", "facts", "default"
    std::string reason;
    std::string cls = {};                 // "J", "P", "S", "B" (docs/rfc/009); "" = not known
    std::vector<std::string> nodes = {};  // nodes that get it, by host name; empty = all
};
/// A [[stage]] of the run file, from at_step on.
struct StagePlan {
    int at_step = 0;
    LayoutPlan chosen;
    Prediction predicted;
};
struct PlanDecision {
    std::string schema = "osora.plan/1";
    LayoutPlan chosen;
    Prediction predicted;
    std::vector<RankGroups> rank_groups;  // of `chosen`
    std::vector<StagePlan> stages;
    std::vector<std::string> reasons;
    std::vector<ExpectedBatch> batch_curve;  // of `chosen` and of other batches, ascending
    std::vector<Alternative> alternatives;
    std::vector<Rejection> rejected;
    std::vector<NcclSetting> nccl_env;
};

BOOST_DESCRIBE_STRUCT(BucketPlan, (),
                      (resolution, num_frames, height, width, micro_batch_size, grad_accum_steps,
                       global_batch_size, gflop_per_sample, tokens_per_sample, step_time_s,
                       peak_memory_gib, compute_s, optimizer_s))
BOOST_DESCRIBE_STRUCT(LayoutPlan, (),
                      (tp_size, pp_size, sp_size, dp_size, virtual_stages, pp_schedule, run_ends,
                       sp_kind, zero_stage, shard_size, recompute, activation_store, offload_frozen,
                       precision, grad_bucket_mib, reduce_dtype, num_workers, prefetch_factor,
                       threads_per_rank, vae_micro_batch_size, vae_micro_frame_size, buckets))
BOOST_DESCRIBE_STRUCT(Prediction, (),
                      (step_time_s, step_time_error, compute_s, exposed_comm_s, bubble_s, loader_s,
                       rank_wait_s, rank_balance, peak_memory_gib, memory_limit_gib, peak_bucket,
                       host_memory_gib, samples_per_s, clips, total_s))
BOOST_DESCRIBE_STRUCT(ExpectedBatch, (),
                      (global_batch_size, exposed_comm_share, step_time_s, samples_per_s))
BOOST_DESCRIBE_STRUCT(Alternative, (), (layout, predicted))
BOOST_DESCRIBE_STRUCT(Rejection, (), (layout, reason))
BOOST_DESCRIBE_STRUCT(NcclSetting, (), (name, value, origin, reason, cls, nodes))
BOOST_DESCRIBE_STRUCT(StagePlan, (), (at_step, chosen, predicted))
BOOST_DESCRIBE_STRUCT(PlanDecision, (),
                      (schema, chosen, predicted, rank_groups, stages, reasons, batch_curve,
                       alternatives, rejected, nccl_env))

}  // namespace osora::plan
