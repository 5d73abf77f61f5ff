// Chooses how a run is laid out: sizes, batches, threads and loader, with the expected time and
// memory and the reason of every choice. Pure and deterministic: the same request, the same plan.
#pragma once

#include "base/result.hpp"
#include "plan/all_reduce_curve.hpp"
#include "plan/calibration.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/config/origin.hpp"
#include "plan/config/run_config.hpp"
#include "plan/decision.hpp"
#include "plan/layout/divisibility.hpp"
#include "plan/model/model_description.hpp"
#include "plan/nccl/nccl_env.hpp"
#include "plan/rehearsal.hpp"
#include "topology/cluster.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// What a probe measured of the nodes of a run, or of nodes like them.
struct MeasuredNetwork {
    topology::ProbeResult result;
    std::string source;  // for people: "n[0-15], 2 h 00 min ago"
};

struct PlanRequest {
    RunConfig config;
    Origins origins;            // where values come from, for [nccl] and unwritten defaults
    topology::Cluster cluster;  // GPUs only where the worker can use them
    Calibration calibration;
    std::optional<ClipStatistics> clips;             // without: square shapes, shares by
                                                     // keep_prob
    std::map<std::string, std::string> environment;  // only what collectives read is looked at
    NcclFacts nccl;                                  // for settings of NCCL and Gloo
    std::optional<MeasuredNetwork> network;          // for the times of collectives
    std::optional<VaeShape> latents;                 // compression of cached latents
    /// Own work of a step by bucket, instead of what the formulas say (a rehearsal's); empty: none.
    std::vector<BucketCompute> compute_times;
    int zero_stage_min = 0;  // where the run file leaves it to the plan
    /// Of the first bucket, about, where the run file leaves it to the plan.
    std::optional<std::int64_t> global_batch_size = {};
    /// Whose data sheet `calibration` is from (nominal_rates.hpp); empty: no GPU was named.
    std::string nominal_gpu = {};
    std::optional<AllReduceCurve> nominal_network = {};  // between its nodes, where no probe tells
    std::optional<Layout> cut = {};  // tp, sp, pp, where the run file leaves them to the plan
};

/// A value of the run file always wins. One that is impossible is invalid_input or not_divisible
/// (the message of the first violation of validate.hpp); out_of_memory when nothing fits, with the
/// bucket that comes nearest and what would make it fit.
[[nodiscard]] Result<PlanDecision> make_plan(PlanRequest const& request);

}  // namespace osora::plan
