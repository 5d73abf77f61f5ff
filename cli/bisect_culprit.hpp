// What the culprits of a bisect are called. Pure.
#pragma once

#include "cli/bisect_text.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// Factors of a culprit that are named; two atoms that cannot be told apart are one culprit.
[[nodiscard]] std::vector<int> culprit_factors(BisectPlan const& plan,
                                               db::analysis::Culprit const& culprit);

/// A culprit with its values in either run: "bucket[1]", "", "num_frames=8, compute_s=0.6".
struct NamedCulprit {
    std::string name, good, bad;
};
[[nodiscard]] NamedCulprit named_culprit(BisectPlan const& plan,
                                         db::analysis::Culprit const& culprit);

}  // namespace osora::cli
