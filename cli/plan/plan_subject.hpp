// What `osora plan` is asked for: a run file on this machine or on named GPUs, or a model on a
// cluster without a run file.
#pragma once

#include "cli/command/arguments.hpp"
#include "cli/plan/plan_run.hpp"
#include "plan/evaluate/named_cluster.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// --model and what stands beside it.
struct ModelOptions {
    std::string model;
    std::vector<plan::BucketSection> buckets;  // at least one
    std::vector<std::string> taken;            // what was not said, and what stands in its place
};
/// invalid_input and not_found name the option and the nearest valid value. Pure.
[[nodiscard]] Result<ModelOptions> model_options(Arguments const& arguments);

/// The run file that asks for that model on these nodes; its data set is a placeholder. Pure.
[[nodiscard]] std::string run_file_text(ModelOptions const& options, int nodes, int gpus_per_node);

struct PlanSubject {
    plan::ResolvedConfig resolved;  // with its problems
    PlanInputs inputs;
    std::string machine;             // of the plan's header; empty: as the run file says
    std::vector<std::string> taken;  // reasons to add to the plan's
};
/// Reads the run file, the topology and the hardware file. An error is the user's (exit code 2)
/// unless its code says otherwise; problems of the run file stand in `resolved`.
[[nodiscard]] Result<PlanSubject> plan_subject(Context const& context, Arguments const& arguments);

}  // namespace osora::cli
