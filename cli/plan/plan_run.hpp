// From a resolved run file to its plan on this machine, for `osora plan`, `osora submit` and `osora
// validate`. Reads this machine's facts and calibration, and probe results.
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

/// This machine as its workers will use it: the GPUs in CUDA_VISIBLE_DEVICES if the GPU module is
/// installed, with the memory that their driver reports; without it the ranks are CPU ranks.
/// `root`: of the files that it is read from.
[[nodiscard]] topology::Cluster local_cluster(Context const& context,
                                              std::filesystem::path const& root = "/");

/// Why a valid run file cannot run here: keys that this version does not support, and the rules of
/// plan/validate.hpp; each with its place in the run file.
[[nodiscard]] std::vector<plan::ConfigProblem> plan_problems(plan::ResolvedConfig const& resolved,
                                                             topology::Cluster const& cluster);

struct PlannedRun {
    plan::PlanDecision decision;
    PlanHeader header;    // its `run` is the run's name, not yet with a number
    std::string warning;  // why an existing calibration was not used; empty: none
};
/// GPUs that a plan is for, on any machine.
struct NamedGpus {
    plan::GpuNodes nodes;
    std::int64_t memory_bytes = 0;  // memory of one, as its driver reports it; 0: as in the data
                                    // sheet
};
/// Name used for data.latents or data.manifest in a plan without a data set.
constexpr std::string_view kAssumedData = "(no data set)";

struct PlanInputs {
    topology::Cluster cluster;
    std::filesystem::path base_dir;                       // base folder of data.manifest
    std::optional<std::filesystem::path> calibration;     // a file to use instead of the state
                                                          // folder's
    std::optional<NamedGpus> gpus = {};                   // none: take it from `cluster`, as
                                                          // measured
    bool assumed_latents = false;                         // latents cached as the model's VAE makes
                                                          // them
    std::vector<plan::BucketCompute> compute_times = {};  // of a rehearsal: the compute times that
                                                          // it is given
};
/// The plan of a valid run file.
[[nodiscard]] Result<PlannedRun> plan_run(Context const& context,
                                          plan::ResolvedConfig const& resolved,
                                          PlanInputs const& inputs);

/// STATE/calibration.json.
[[nodiscard]] Result<std::filesystem::path> calibration_path(Context const& context);

}  // namespace osora::cli
