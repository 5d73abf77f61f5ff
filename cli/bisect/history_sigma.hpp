// How much step times vary from one run to the next, from runs that history has. Pure.
#pragma once

#include "db/analysis/history.hpp"

#include <limits>
#include <vector>

namespace osora::cli {

struct HistorySigma {
    double sigma_s = std::numeric_limits<double>::quiet_NaN();  // of a trial; NaN: too few runs
    int runs = 0;                                               // that it comes from
};

inline constexpr int kLikeRunsMin = 8;

/// From the runs of the series with the run file, work and size of `good`: 1.4826 times the median
/// of |difference| between neighbours, over sqrt(2), so that a lasting change in between does no
/// harm; and on top of it what the median of a trial's `steps` steps varies by within a run.
[[nodiscard]] HistorySigma sigma_of_like_runs(std::vector<db::analysis::SeriesRun> const& series,
                                              db::analysis::RunSummary const& good, int steps);

}  // namespace osora::cli
