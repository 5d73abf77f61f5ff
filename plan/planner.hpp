// Chooses how a run is laid out: sizes, batches, threads and loader, with the expected time and
// memory and the reason of every choice. Pure and deterministic: the same request, the same plan.
#pragma once

#include "base/result.hpp"
#include "plan/calibration.hpp"
#include "plan/config/origin.hpp"
#include "plan/config/run_config.hpp"
#include "plan/decision.hpp"
#include "topology/cluster.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// What the clip index knows of one [[bucket]].
struct BucketClips {
    double clips = 0;  // expected in this bucket, a pass over the data; 0: no clip fits
    int height = 0;    // pixels, the most common shape
    int width = 0;
};
struct ClipStatistics {
    std::vector<BucketClips> buckets;      // in the order of the run file
    std::int64_t clip_pixels_max = 0;      // height x width of the largest source picture
    double decoded_pixels_per_sample = 0;  // source pixels decoded for a sample, mean; 0: unknown
};

struct PlanRequest {
    RunConfig config;
    Origins origins;            // where values come from, for [nccl] and unwritten defaults
    topology::Cluster cluster;  // GPUs only where the worker can use them
    Calibration calibration;
    std::optional<ClipStatistics> clips;             // without: square shapes, shares by
                                                     // keep_prob
    std::map<std::string, std::string> environment;  // only its NCCL_* are looked at
};

/// A value of the run file always wins. One that is impossible is invalid_input or not_divisible
/// (the message of the first violation of validate.hpp); out_of_memory when nothing fits, with the
/// bucket that comes nearest.
[[nodiscard]] Result<PlanDecision> make_plan(PlanRequest const& request);

}  // namespace osora::plan
