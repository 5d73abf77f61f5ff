// Where the seconds between the steps of A and of B went: rows that add up to the gap. Pure.
//
// Steps are compared bucket by bucket with A's mix of buckets (direct standardisation); what the
// other mix of B adds or saves is a separate row. When a rank of B does another number of samples
// a step (strong scaling, other batch sizes), A's forward and backward are first brought to B's
// number, which is the row `work`; the other rows are then of the same work.
#pragma once

#include "db/analysis/attribution/step_parts.hpp"

#include <boost/describe/enum.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace osora::db::analysis {

struct Interval {
    double low = kUnknown, high = kUnknown;
};

/// The runs of one side, which have the same work and settings.
struct Side {
    std::vector<StepTable const*> runs;
};

struct WaterfallRow {
    std::string key;   // "compute", "bucket_mix", ...: for scripts
    std::string name;  // for people
    /// Mean seconds of a step with A's mix of buckets; NaN for bucket_mix and work.
    double a_s = kUnknown, b_s = kUnknown;
    double gap_s = 0;
    Interval interval;         // 95 %
    double of_gap = kUnknown;  // of Waterfall::gap_s; NaN for work
};

enum class IntervalKind {
    none,        // too few steps
    within_run,  // blocks of steps: the spread inside the runs, not between runs
    over_runs    // at least kRunsForIntervals runs on both sides
};
BOOST_DESCRIBE_ENUM(IntervalKind, none, within_run, over_runs)
constexpr int kRunsForIntervals = 3;
constexpr int kBlockSteps = 20;
/// A side with fewer steps that count is not compared.
constexpr int kStepsMin = 10;

struct Waterfall {
    int steps_a = 0, steps_b = 0;
    double a_s = kUnknown, b_s = kUnknown;  // mean steps
    double work_s = 0;        // what B's other number of samples per rank adds to A's step
    double gap_s = kUnknown;  // b_s - a_s - work_s
    Interval interval;
    IntervalKind intervals = IntervalKind::none;
    bool standardised = false;  // bucket by bucket; false: the sides have too few steps in common
                                // buckets
    std::vector<WaterfallRow> rows;  // their gaps, and work_s, add up to b_s - a_s
    double residual_share_a = kUnknown, residual_share_b = kUnknown;

    [[nodiscard]] bool enough() const { return steps_a >= kStepsMin && steps_b >= kStepsMin; }
    /// The parts of the steps add up to the step times within kUnattributable.
    [[nodiscard]] bool attributable() const {
        return residual_share_a < kUnattributable && residual_share_b < kUnattributable;
    }
};

/// Intervals are percentiles of a bootstrap seeded with `seed`. There are rows only when enough().
[[nodiscard]] Waterfall waterfall(Side const& a, Side const& b, std::uint64_t seed = 1);

}  // namespace osora::db::analysis
