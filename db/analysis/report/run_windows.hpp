// A run divided into windows without a change: a window ends at a relaunch of the ranks, or where
// the number of samples of a bucket's steps changes. Pure.
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
    int steps = 0;                       // that the run continued from
    int steps_used = 0;                  // of these, after the warm-up, reported by every rank
    double step_s_median = kUnknown, step_s_mad = kUnknown;  // of the used steps
    double samples_per_s = kUnknown;                         // at the buckets' median step times
};

/// A bucket whose samples change more often than this in a launch varies by itself: it ends no
/// window.
constexpr int kBatchChangesMax = 16;

/// In the order of their steps; figures need the column step_time_s.
[[nodiscard]] std::vector<RunWindow> run_windows(StepTable const& steps);

}  // namespace osora::db::analysis
