// Names of the culprits of a bisect. Pure.
#pragma once

#include "cli/bisect/bisect_text.hpp"

#include <string>
#include <vector>

namespace osora::cli {

/// Maximum number of factors named for a culprit; two atoms that trials cannot separate are one
/// culprit.
[[nodiscard]] std::vector<int> culprit_factors(BisectPlan const& plan,
                                               db::analysis::Culprit const& culprit);

/// A culprit with its values in one of the runs: "bucket[1]", "", "num_frames=8, compute_s=0.6".
struct NamedCulprit {
    std::string name, good, bad;
};
[[nodiscard]] NamedCulprit named_culprit(BisectPlan const& plan,
                                         db::analysis::Culprit const& culprit);

/// A culprit as users see it: an item, or steps of the path of commits.
struct ShownCulprit {
    NamedCulprit named;  // of commits: "commit", with the full names before and after
    double share = db::analysis::kNotMeasured, p = db::analysis::kNotMeasured;
    std::vector<int> factors;           // of an item
    int first_step = 0, last_step = 0;  // [first, last) of the path; equal: no commits
    [[nodiscard]] bool is_commits() const { return first_step < last_step; }
};
[[nodiscard]] std::vector<ShownCulprit> shown_culprits(BisectPlan const& plan,
                                                       BisectAnswer const& answer);

}  // namespace osora::cli
