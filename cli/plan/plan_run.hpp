// From a resolved run file to its plan on this machine: what `osora plan`, `osora submit` and
// `osora validate` share. Reads this machine's facts and calibration, and what probes have
// measured.
#pragma once

#include "base/result.hpp"
#include "cli/command/context.hpp"
#include "cli/plan/plan_text.hpp"
#include "plan/config/run_file.hpp"
#include "plan/decision.hpp"
#include "plan/evaluate/nominal_rates.hpp"
#include "plan/rehearsal.hpp"
#include "topology/cluster.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace osora::cli {

/// This machine as its workers will use it: the GPUs that CUDA_VISIBLE_DEVICES leaves, where the
/// GPU module is installed; without one the ranks are CPU ranks.
[[nodiscard]] topology::Cluster local_cluster(Context const& context);

/// What keeps a run file without problems of its own from being run here: keys that this version
/// does not do, and the rules of plan/validate.hpp; each with the place it was written at.
[[nodiscard]] std::vector<plan::ConfigProblem> plan_problems(plan::ResolvedConfig const& resolved,
                                                             topology::Cluster const& cluster);

struct PlannedRun {
    plan::PlanDecision decision;
    PlanHeader header;    // its `run` is the run's name, still without a number
    std::string warning;  // why a calibration that is there was not used; empty: none
};
/// GPUs that a plan is made for, wherever they are.
struct NamedGpus {
    plan::GpuNodes nodes;
    std::int64_t memory_bytes = 0;  // of one as its driver tells it; 0: as the data sheet says
};
/// data.latents, or data.manifest, of a plan without a data set.
constexpr std::string_view kAssumedData = "(no data set)";

struct PlanInputs {
    topology::Cluster cluster;
    std::filesystem::path base_dir;                       // where data.manifest starts
    std::optional<std::filesystem::path> calibration;     // another file than the state folder's
    std::optional<NamedGpus> gpus = {};                   // none: of `cluster`, as it was measured
    bool assumed_latents = false;                         // cached as the model's VAE makes them
    std::vector<plan::BucketCompute> compute_times = {};  // of a rehearsal: what it is told to take
};
/// The plan of a run file without problems.
[[nodiscard]] Result<PlannedRun> plan_run(Context const& context,
                                          plan::ResolvedConfig const& resolved,
                                          PlanInputs const& inputs);

/// STATE/calibration.json.
[[nodiscard]] Result<std::filesystem::path> calibration_path(Context const& context);

}  // namespace osora::cli
