// What a layout of a row must meet: the rules of plan/layout/divisibility.hpp, and those of
// training that only this model knows (grouped heads, interleaved pipelines, sharded state). Pure.
#pragma once

#include "plan/evaluate/rows.hpp"
#include "plan/layout/divisibility.hpp"

#include <vector>

namespace osora::plan {

/// Every rule that is broken, in the order of the tables; empty when the layout is legal.
[[nodiscard]] std::vector<LayoutViolation> row_violations(EvaluateRow const& row);

}  // namespace osora::plan
