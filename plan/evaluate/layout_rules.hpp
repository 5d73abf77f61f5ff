// Requirements of a row's layout: the rules of plan/layout/divisibility.hpp, and those of features
// that only this model has (grouped heads, interleaved pipelines, sharded state). Pure.
#pragma once

#include "plan/evaluate/rows.hpp"
#include "plan/layout/divisibility.hpp"

#include <vector>

namespace osora::plan {

/// All broken rules, in the order of the tables; empty when the layout is legal.
[[nodiscard]] std::vector<LayoutViolation> row_violations(EvaluateRow const& row);

}  // namespace osora::plan
