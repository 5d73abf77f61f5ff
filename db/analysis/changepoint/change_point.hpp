// A change of level in a series of values, one value per run, with what all detectors share. Pure.
// Indices count from 0 and name the first value of the new level.
#pragma once

#include <limits>
#include <vector>

namespace osora::db::analysis::changepoint {

inline constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

struct ChangePoint {
    int index = 0;
    double before = kNotKnown, after = kNotKnown;  // levels, as the detector computes them
    double p = kNotKnown;                          // each detector's header names the test
    int lo = 0, hi = 0;                            // the change lies in [lo, hi], index within

    /// after / before - 1; infinite from a level of 0.
    [[nodiscard]] double effect() const;
};

/// Whether higher values are worse (seconds per step) or lower ones (samples per second).
enum class Direction { higher_is_worse, lower_is_worse };

/// Values [start, stop) of one level.
struct Segment {
    int start = 0, stop = 0;
    [[nodiscard]] int size() const { return stop - start; }
};
/// The segments of [0, count) between ascending indices.
[[nodiscard]] std::vector<Segment> segments_between(std::vector<int> const& indices, int count);

}  // namespace osora::db::analysis::changepoint
