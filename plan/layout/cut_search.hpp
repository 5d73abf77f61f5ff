// Which ranks train on the same samples: tp, sp and pp sizes where the run file says "auto". Each
// legal cut is planned, and the one that shares least wins unless another is clearly faster. Pure;
// private to the planner.
#pragma once

#include "base/result.hpp"
#include "plan/layout/divisibility.hpp"
#include "plan/planner.hpp"

#include <functional>
#include <string>
#include <vector>

namespace osora::plan {

struct IllegalCut {
    Layout sizes;
    std::string reason;
    Errc code = Errc::invalid_input;
};
struct CutChoices {
    std::vector<Layout> legal;  // what shares least first
    std::vector<IllegalCut> illegal;
};
/// What the run file leaves open: all divisors, tp and sp together within a node, pp over all
/// ranks; or as `request.cut` has settled it.
[[nodiscard]] CutChoices cut_choices(PlanRequest const& request);

/// The plan of the best cut, with the others among alternatives and rejected, and the reason for it
/// in front. `plan_of` plans a request whose sizes are given. Errors, when none can be planned: its
/// error for the cut that shares most, or the broken rule.
[[nodiscard]] Result<PlanDecision> best_cut(
    PlanRequest const& request,
    std::function<Result<PlanDecision>(PlanRequest const&)> const& plan_of);

}  // namespace osora::plan
