// The subject of `osora plan`: a run file, on this machine or on named GPUs, or a model on a
// cluster without a run file.
#pragma once

#include "cli/command/arguments.hpp"
#include "cli/plan/plan_run.hpp"
#include "plan/evaluate/named_cluster.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// --model and the options beside it.
struct ModelOptions {
    std::string model;
    std::vector<plan::BucketSection> buckets;  // at least one
    std::vector<std::string> taken;            // what was not given, and the value used instead
};
/// invalid_input and not_found name the option and the nearest valid value. Pure.
[[nodiscard]] Result<ModelOptions> model_options(Arguments const& arguments);

/// The run file for that model on these nodes; its data set is a placeholder. Pure.
[[nodiscard]] std::string run_file_text(ModelOptions const& options, int nodes, int gpus_per_node);

struct PlanSubject {
    plan::ResolvedConfig resolved;  // with its problems
    PlanInputs inputs;
    std::string machine;             // for the plan's header; empty: as the run file says
    std::vector<std::string> taken;  // reasons to add to the plan's
};
/// Reads the run file, the topology and the hardware file. Errors are the user's (exit code 2)
/// unless their code says otherwise; problems of the run file are in `resolved`.
[[nodiscard]] Result<PlanSubject> plan_subject(Context const& context, Arguments const& arguments);

}  // namespace osora::cli
