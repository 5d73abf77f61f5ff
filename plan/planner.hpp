// Chooses the layout of a run: sizes, batches, threads and loader, with the predicted time and
// memory and the reason of every choice. Pure and deterministic: the same request gives the same
// plan.
#pragma once

#include "base/result.hpp"
#include "plan/calibration.hpp"
#include "plan/clip_statistics.hpp"
#include "plan/config/origin.hpp"
#include "plan/config/run_config.hpp"
#include "plan/decision.hpp"
#include "plan/earlier/measured_pass.hpp"
#include "plan/layout/divisibility.hpp"
#include "plan/listed_work.hpp"
#include "plan/model/model_description.hpp"
#include "plan/nccl/nccl_env.hpp"
#include "plan/network/collective_curve.hpp"
#include "plan/rehearsal.hpp"
#include "topology/cluster.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace osora::plan {

/// A probe's measurements of a run's nodes, or of similar nodes.
struct MeasuredNetwork {
    topology::ProbeResult result;
    std::string source;  // for people: "n[0-15], 2 h 00 min ago"
};

struct PlanRequest {
    RunConfig config;
    Origins origins;            // origins of values, for [nccl] and unwritten defaults
    topology::Cluster cluster;  // GPUs only if the worker can use them
    Calibration calibration;
    std::optional<ClipStatistics> clips;             // without: square shapes, shares by
                                                     // keep_prob
    std::map<std::string, std::string> environment;  // only what collectives read
    NcclFacts nccl;                                  // for settings of NCCL and Gloo
    std::optional<MeasuredNetwork> network;          // for the times of collectives
    std::vector<MeasuredPass> measured_passes;       // of this network on these machines
    std::vector<double> past_errors = {};            // |predicted / measured - 1| of earlier runs
    std::optional<VaeShape> latents;                 // compression of cached latents
    /// Compute times of a step by bucket, used instead of the formulas (for a rehearsal); empty:
    /// none.
    std::vector<BucketCompute> compute_times;
    int zero_stage_min = 0;  // if the run file leaves it to the plan
    /// What fits wherever other choices do, if the run file leaves it to the plan: one copy of what
    /// ZeRO divides, 1F1B.
    bool least_memory = false;
    /// Approximate batch of the first bucket, if the run file leaves it to the plan.
    std::optional<std::int64_t> global_batch_size = {};
    /// The GPU whose data sheet `calibration` is from (nominal_rates.hpp); empty: no GPU was named.
    std::string nominal_gpu = {};
    bool gpu_found = false;                               // nobody named it: the machine has it
    std::optional<CollectiveCurve> nominal_network = {};  // between its nodes, if no probe measured
                                                          // it
    std::optional<ListedWork> listed = {};                // job = "score": its list
    std::optional<Layout> cut = {};  // tp, sp, pp, if the run file leaves them to the plan
};

/// A value of the run file always wins. If it is impossible: invalid_input or not_divisible (the
/// message of the first violation of validate.hpp); out_of_memory when nothing fits, with the
/// bucket that comes nearest and what would make it fit.
[[nodiscard]] Result<PlanDecision> make_plan(PlanRequest const& request);

}  // namespace osora::plan
