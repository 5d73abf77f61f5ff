// Which ranks train on the same samples: tp, sp and pp sizes for "auto" in the run file. Plans each
// legal cut; the one that shares least wins unless another is clearly faster. Pure; private to the
// planner.
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
    std::vector<Layout> legal;  // the one that shares least first
    std::vector<IllegalCut> illegal;
};
/// The sizes that the run file leaves open: all divisors, tp and sp together within a node, pp over
/// all ranks; or as fixed in `request.cut`.
[[nodiscard]] CutChoices cut_choices(PlanRequest const& request);

/// The plan of the best cut, with the others among alternatives and rejected, and the reason for it
/// first. `plan_of` plans a request with given sizes. Errors if no cut can be planned: the error of
/// the cut that shares most, or the broken rule.
[[nodiscard]] Result<PlanDecision> best_cut(
    PlanRequest const& request,
    std::function<Result<PlanDecision>(PlanRequest const&)> const& plan_of);

}  // namespace osora::plan
