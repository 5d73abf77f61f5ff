// A run cut into stretches in which nothing was changed: a window ends where ranks are launched
// again, or where a bucket's steps begin to have another number of samples. Pure.
#pragma once

#include "db/record/run_record.hpp"

#include <map>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct RunWindow {
    int attempt = 0, first_step = 0, last_step = 0;
    int ranks = 0;
    std::map<std::string, int> buckets;  // steps of each
    int steps = 0;                       // that the run went on from
    int steps_used = 0;                  // of them, behind the warm-up, every rank reported
    double step_s_median = kUnknown, step_s_mad = kUnknown;  // of the used steps
    double samples_per_s = kUnknown;                         // at the buckets' median step times
};

/// A bucket whose samples change more often than this in a launch varies by itself: no window ends
/// there.
constexpr int kBatchChangesMax = 16;

/// In the order of their steps; needs the column step_time_s for the figures.
[[nodiscard]] std::vector<RunWindow> run_windows(StepTable const& steps);

}  // namespace osora::db::analysis
