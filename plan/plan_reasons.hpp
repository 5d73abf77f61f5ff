// The plan's "why" in short sentences (for the cut: cut_search.hpp), and the micro-batches that
// were rejected. Pure; private to the planner.
#pragma once

#include "plan/decision.hpp"
#include "plan/layout/batch_sizes.hpp"
#include "plan/layout/layout_search.hpp"
#include "plan/loader_choice.hpp"

#include <string>
#include <vector>

namespace osora::plan {

struct ChosenParts {
    PlanContext const& context;
    GlobalBatches const& batches;
    Candidate const& best;
    LoaderChoice const& loader;
};
/// Most important first; includes those of `rejected` that kept a micro-batch small.
[[nodiscard]] std::vector<std::string> plan_reasons(ChosenParts const& parts,
                                                    std::vector<Rejection> const& rejected);

/// The smallest micro-batch of each bucket that does not fit.
[[nodiscard]] std::vector<Rejection> rejected_micro_batches(ChosenParts const& parts,
                                                            LayoutPlan const& chosen);

}  // namespace osora::plan
