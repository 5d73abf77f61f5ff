// A request with everything that a plan needs looked up once: model, bucket shapes, costs, limits.
// Private to the planner and the validator.
#pragma once

#include "base/result.hpp"
#include "plan/all_reduce_curve.hpp"
#include "plan/buckets/shapes.hpp"
#include "plan/memory.hpp"
#include "plan/model_cost.hpp"
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
    std::vector<BucketKey> keys;       // of each [[bucket]]
    std::vector<SampleCost> costs;     // of a sample of each
    std::vector<double> clips;         // of each, a pass over the data; any unit
    std::vector<double> decode_s;      // of a sample of each, one decoding thread
    std::int64_t clip_pixels_max = 0;  // of the largest source picture
    int ranks = 1;                     // on all nodes
    int cores = 1;                     // of all nodes
    bool gpu = false;
    bool latents = false;                   // cached: nothing is decoded
    std::string precision = "fp32";         // that is trained in
    std::optional<AllReduceCurve> network;  // of these ranks, where a probe says it
    std::string network_source;             // for people; empty: one node, or not measured
    bool network_known = true;              // one node counts as known
    std::int64_t host_bytes = 0;            // of the node that a plan may fill; 0: unknown
    std::int64_t gpu_bytes = 0;             // of one GPU that a plan may fill; 0: no GPU

    /// "64 x 8", as a user names a bucket.
    [[nodiscard]] std::string bucket_name(std::size_t bucket) const;
};

/// The shape of a bucket's samples before its clips are known; invalid_input for its resolution.
[[nodiscard]] Result<BucketKey> bucket_key(BucketSection const& bucket, ModelShape const& shape);

[[nodiscard]] Result<PlanContext> plan_context(PlanRequest const& request);

}  // namespace osora::plan
