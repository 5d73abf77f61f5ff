// A request with everything that a plan needs, looked up once: model, bucket shapes, costs, limits.
// Private to the planner and the validator.
#pragma once

#include "base/result.hpp"
#include "plan/buckets/shapes.hpp"
#include "plan/earlier/measured_pass.hpp"
#include "plan/memory.hpp"
#include "plan/model/model_cost.hpp"
#include "plan/network/group_network.hpp"
#include "plan/planner.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

struct PlanContext {
    RunConfig config;
    ModelShape shape;
    Calibration calibration;
    std::vector<BucketKey> keys;       // of each [[bucket]], the most common
    std::vector<BucketKey> peak_keys;  // the largest, which decides what fits
    std::vector<SampleCost> costs;     // of a sample of each
    std::vector<double> clips;         // clips per pass over the data, for each; any unit
    std::vector<double> decode_s;      // of a sample of each, one decoding thread
    std::int64_t clip_pixels_max = 0;  // of the largest source picture
    bool clips_known = false;          // else their sizes and their buckets are assumed
    int ranks = 1;                     // on all nodes
    int ranks_per_node = 1;
    int sp_size = 1;                            // of them, that share the tokens of each sample
    SpKind sp_kind = SpKind::ulysses;           // how these compute attention
    int tp_size = 1;                            // of them, that share linear layers
    int pp_size = 1;                            // of them, that share blocks
    int virtual_stages = 1;                     // block groups of each of these
    bool eager = false;                         // their passes are in the order of eager 1F1B
    std::vector<std::int64_t> run_ends;         // of these groups (layout/stage_cut)
    int cores = 1;                              // of all nodes
    std::optional<std::int64_t> settled_batch;  // approximate, for the first bucket
    bool gpu = false;
    ActivationChoice activations;            // the cheapest one that fits
    bool offload_frozen = false;             // frozen blocks: the rest did not fit, or is set
    bool recomputes_for_time = false;        // less would fit at a higher ZeRO stage
    bool latents = false;                    // cached: nothing is decoded
    std::string precision = "fp32";          // that is trained in
    std::string reduce_dtype = "fp32";       // of gradients between ranks
    int zero_stage = 0;                      // grad bucket sizes to consider
    int shard_size = 0;                      // ranks that share what ZeRO divides; 0: all
    bool least_memory = false;               // "auto" is one copy, and 1F1B
    std::optional<GroupNetwork> network;     // of these ranks, if a probe measured it
    std::optional<PassCorrection> measured;  // by earlier runs of this network
    std::vector<double> past_errors;         // of plans of earlier runs (stated_error.hpp)
    std::string network_source;              // for people; empty: one node, or not measured
    std::string nominal_gpu;                 // GPU whose data sheet gives the rates; empty: none
    bool gpu_found = false;                  // nobody named it: the machine has it
    bool gpu_memory_known = true;            // false: the default of memory.gpu_memory_gib
    bool network_known = true;               // one node counts as known
    std::int64_t host_bytes = 0;             // of the node that a plan may fill; 0: unknown
    std::int64_t gpu_bytes = 0;              // of one GPU that a plan may fill; 0: no GPU

    /// Number of samples that are trained side by side.
    [[nodiscard]] int dp_size() const { return ranks / ranks_together(); }
    /// Ranks that train on the same samples.
    [[nodiscard]] int ranks_together() const { return tp_size * sp_size * pp_size; }
    /// "64 x 8", as a user names a bucket.
    [[nodiscard]] std::string bucket_name(std::size_t bucket) const;
};

/// The shape of a bucket's samples before its clips are known; invalid_input for its resolution.
[[nodiscard]] Result<BucketKey> bucket_key(BucketSection const& bucket, ModelShape const& shape);

[[nodiscard]] Result<PlanContext> plan_context(PlanRequest const& request);

}  // namespace osora::plan
