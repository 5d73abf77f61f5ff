// Robust figures of a run's steps: which steps count, and their typical time, rate and shares.
// Pure. Steps of one run share the state of its machines, so they describe this run; comparing runs
// takes several runs.
#pragma once

#include "db/record/run_record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace osora::db::analysis {

/// Steps of an attempt that are left out because caches, pools and channels warm up: its first 20,
/// or the first fifth of a short one.
constexpr int kWarmupSteps = 20;
/// The loss is compared between the mean of this many first and last steps (or halves).
constexpr int kLossSteps = 20;

/// Indices into a StepTable.
struct StepSelection {
    std::vector<std::size_t> kept;  // steps that the run continued from
    std::vector<std::size_t>
        used;  // kept, after the warm-up of their attempt, reported by every rank
    std::vector<std::size_t> cold;  // kept, but in the warm-up
    int warmup = 0;
    int undone = 0;      // done once, lost with a failed attempt and never reached again
    int incomplete = 0;  // some rank's part is missing
};
[[nodiscard]] StepSelection select_steps(StepTable const& steps);

struct BucketMeasure {
    std::string bucket;
    int steps = 0;  // used
    double samples_per_step = kUnknown, step_s_median = kUnknown, step_s_mad = kUnknown;
};
BOOST_DESCRIBE_STRUCT(BucketMeasure, (),
                      (bucket, steps, samples_per_step, step_s_median, step_s_mad))

/// Figures over the used steps, under the names of the columns of `measured`; shares are of the
/// step time; NaN where nothing was measured.
struct Measured {
    int steps = 0;      // kept
    int next_step = 0;  // after the last kept step
    int warmup_steps = 0, steps_used = 0, steps_incomplete = 0;
    int steps_repeated = 0, steps_undone = 0;
    double step_s_median = kUnknown, step_s_mad = kUnknown;
    double step_s_mix = kUnknown;     // mean of the buckets' medians, weighted by their steps; of a
                                      // bucket whose batch changed: of the medians of each batch
    double samples_per_s = kUnknown;  // at these step times
    double data_share = kUnknown;
    double comm_share = kUnknown;  // exposed communication of the rank that waits least
    double wait_share = kUnknown;  // additional waiting of the others, for a slower rank
    int loss_window = 0;
    double loss_first = kUnknown, loss_last = kUnknown;
    std::int64_t rss_bytes = 0, peak_allocated_bytes = 0;  // highest of a rank; 0: unknown
    std::vector<BucketMeasure> buckets;                    // as StepTable::buckets
};
BOOST_DESCRIBE_STRUCT(Measured, (),
                      (steps, next_step, warmup_steps, steps_used, steps_incomplete, steps_repeated,
                       steps_undone, step_s_median, step_s_mad, step_s_mix, samples_per_s,
                       data_share, comm_share, wait_share, loss_window, loss_first, loss_last,
                       rss_bytes, peak_allocated_bytes, buckets))
[[nodiscard]] Measured measure(StepTable const& steps);

/// Seconds of these steps of one bucket, each at the median of those with as many samples: the
/// batch may change during a run ([[stage]], or a resumed run), and no median is that of both.
[[nodiscard]] double seconds_at_medians(StepTable const& steps,
                                        std::vector<std::size_t> const& indices);

/// Values of a column at the given indices; empty when there is no such column.
[[nodiscard]] std::vector<double> pick(std::vector<double> const& column,
                                       std::vector<std::size_t> const& indices);

}  // namespace osora::db::analysis
