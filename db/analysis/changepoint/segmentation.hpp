// The detector that decides: levels of a series of runs, told apart from runs that are slow once,
// from noise that runs share with their neighbours (autocorrelation), and from a machine that has
// two speeds. Pure.
//
// Values are taken as logarithms when all are positive. Noise is the median absolute deviation,
// first of differences, then of what the levels leave; partition() places the levels, clipping at 3
// noises; its penalty for a change is 3.25 ln n (1 + 8/n) noises^2, times (1 + r)/(1 - r) for noise
// of autocorrelation r. How often that is right: docs/rfc/011-detection.md.
#pragma once

#include "db/analysis/changepoint/change_point.hpp"

#include <optional>
#include <span>
#include <vector>

namespace osora::db::analysis::changepoint {

struct SegmentationOptions {
    double min_effect = 0.03;    // smaller changes are merged away, smallest first
    int min_segment = 3;         // values of a level
    double noise_floor = 0.002;  // of the level: no series counts as steadier than that
};

/// Two speeds between which one series alternates.
struct Bimodality {
    double low = 0, high = 0;  // medians
    double high_share = 0;     // share of the values
};

struct Segmentation {
    /// Levels are medians. p is Mann and Whitney's between the two segments when both have 5
    /// values, else that of Student's t of their medians, times the places where the split could
    /// have been; it decides nothing. [lo, hi] holds the change in about 95 of 100 cases.
    std::vector<ChangePoint> points;
    /// Changes that are as certain (p <= 0.001) but smaller than options.min_effect: they do not
    /// count.
    std::vector<ChangePoint> small;
    double min_effect = 0;            // of the options
    double noise = kNotKnown;         // standard deviation within a level, as a share of it; with
                                      // two modes half of their distance
    double correlation = kNotKnown;   // of neighbours within a level, at least 0
    std::optional<Bimodality> modes;  // values alternate between them: changes of level are less
                                      // certain
};

/// Series with fewer values have no change points.
[[nodiscard]] constexpr int values_needed(SegmentationOptions const& options) {
    return 2 * options.min_segment;
}

/// Values must be finite.
[[nodiscard]] Segmentation robust_change_points(std::span<double const> values,
                                                SegmentationOptions const& options = {});

}  // namespace osora::db::analysis::changepoint
