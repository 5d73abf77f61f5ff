// The alerts that Mozilla's Perfherder raises (treeherder/perfalert/perfalert at dc3080d):
// Student's t of up to 24 values before against 12 from each value on, weighted down in a straight
// line away from it; a value above the threshold and not below either neighbour is a change. Pure.
// A reference: same answers as Perfherder for one value a push.
#pragma once

#include "db/analysis/changepoint/change_point.hpp"

#include <span>
#include <vector>

namespace osora::db::analysis::changepoint {

struct MozillaOptions {
    int back_min = 12, back_max = 24, fore = 12;  // values; at least 1
    double t_limit = 7;
    double min_effect = 0;  // Perfherder's sheriffs look at changes of 2 % and more
};

/// Values must be finite. Levels are plain means of the two windows; p is that of t with the
/// windows' degrees of freedom, as if unweighted; [lo, hi] is only the index.
[[nodiscard]] std::vector<ChangePoint> mozilla_change_points(std::span<double const> values,
                                                             MozillaOptions const& options = {});

}  // namespace osora::db::analysis::changepoint
