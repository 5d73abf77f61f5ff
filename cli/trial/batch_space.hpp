// What `osora tune --batch` may choose: layouts of the plan, levels of recomputing, micro-batches.
// The global batches stay those of the plan, so a step trains the same samples in every trial, and
// keys that the run file sets keep their values. Pure.
#pragma once

#include "plan/config/run_file.hpp"
#include "plan/decision.hpp"
#include "plan/tune/batch_search.hpp"
#include "plan/tune/tune_search.hpp"

#include <string>
#include <vector>

namespace osora::cli {

struct BatchChoices {
    std::vector<plan::LayoutPlan> layouts;  // the first: the plan's choice
    std::vector<std::string> recompute;     // levels, the one that keeps least first
    std::vector<int> micro_batches;         // of the first bucket: powers of 2
    std::vector<plan::BucketSection> buckets;
    bool sets_micro_batch = true, sets_recompute = true;  // false: the run file does
    plan::BatchPoint planned;
};
[[nodiscard]] BatchChoices batch_choices(plan::ResolvedConfig const& resolved,
                                         plan::PlanDecision const& decision);

/// Keys of the run file for a point. Buckets have micro-batches of equal cost as far as these
/// divide their batches.
[[nodiscard]] plan::TuneSettings settings_of(BatchChoices const& choices,
                                             plan::BatchPoint const& point);

/// "4, 8 · none · dp 2": micro-batches, recomputing, layout.
[[nodiscard]] std::string point_text(BatchChoices const& choices, plan::BatchPoint const& point);

/// Lines for the run file; those of [[bucket]] name their bucket in a comment.
[[nodiscard]] std::string batch_lines(BatchChoices const& choices, plan::BatchPoint const& point);

}  // namespace osora::cli
