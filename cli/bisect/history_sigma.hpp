// How much step times vary from one run to the next, estimated from past runs. Pure.
#pragma once

#include "db/analysis/history.hpp"

#include <limits>
#include <vector>

namespace osora::cli {

struct HistorySigma {
    double sigma_s = std::numeric_limits<double>::quiet_NaN();  // of a trial; NaN: too few runs
    int runs = 0;                                               // number of runs used
};

inline constexpr int kLikeRunsMin = 8;

/// From the runs of the series with the run file, work and size of `good`: 1.4826 times the median
/// of |difference| between neighbours, over sqrt(2), so that one lasting change does no harm; plus
/// the variation of the median of a trial's `steps` steps within a run.
[[nodiscard]] HistorySigma sigma_of_like_runs(std::vector<db::analysis::SeriesRun> const& series,
                                              db::analysis::RunSummary const& good, int steps);

}  // namespace osora::cli
