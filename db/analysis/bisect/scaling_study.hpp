// Where a series stops scaling over the number of nodes, and what grows: for runs that differ only
// in size. Pure. Method: docs/rfc/013.
#pragma once

#include "base/result.hpp"

#include <limits>
#include <map>
#include <string>
#include <vector>

namespace osora::db::analysis {

/// Runs of one size.
struct ScalingPoint {
    int nodes = 1;
    std::vector<double> step_s;   // one value per run: the median of its steps
    double samples_per_step = 1;  // global batch; the same at all sizes: strong scaling
    /// Parts of a step, e.g. "compute", "exposed all_gather". One that is not known is left out: it
    /// has no growth relative to this size, nor this size relative to another.
    std::map<std::string, double> components_s;
    /// Waiting time in a step by class of collectives; it explains components.
    std::map<std::string, double> collectives_s = {};
};

struct ScalingOptions {
    double sigma = std::numeric_limits<double>::quiet_NaN();  // run to run, relative, from history
    double sigma_floor = 0.005;       // used if neither history nor repeats give more
    double loss_per_doubling = 0.03;  // loss of efficiency that is not a knee
};

/// t(n) = constant + log2 * log2(n) + ring * (n-1)/n + linear * n, in seconds a step of the work
/// that a node does at the smallest size; none is negative.
struct ScalingLaw {
    double constant_s = 0, log2_s = 0, ring_s = 0, linear_s = 0;
    double aicc = std::numeric_limits<double>::quiet_NaN();
    double error = std::numeric_limits<double>::quiet_NaN();  // root mean square, relative
    [[nodiscard]] double at(double nodes) const;
    [[nodiscard]] std::string text() const;  // "3.20 + 0.41 log2 n"
};

struct ScalingStep {
    int nodes = 1;
    double step_s = 0;        // median
    double efficiency = 1;    // samples per second and node, relative to the smallest size
    double per_doubling = 1;  // the same relative to the previous size, to the power 1 / doublings
    double noise = 0;         // drop of per_doubling that is not significant, 3 sigma
    std::map<std::string, double> growth_s;  // by component, relative to the smallest size's share
                                             // of work
    std::map<std::string, double> collectives_growth_s;  // likewise, by class
    std::string largest;  // component that grew most since the previous size; "" = none is known
};

struct ScalingStudy {
    bool strong = false;             // the same global batch at all sizes
    std::vector<ScalingStep> steps;  // ascending
    ScalingLaw law;
    int knee_nodes = 0;     // the largest size up to which no doubling costs more than noise
                            // explains
    bool has_knee = false;  // false: scales to the largest measured size
    std::vector<std::string> notes;  // what was left out or could not be determined
};

/// invalid_input: a size, time or batch that is not above zero and finite, or a duplicate size;
/// not_found: fewer than two sizes.
[[nodiscard]] Result<ScalingStudy> study_scaling(std::vector<ScalingPoint> points,
                                                 ScalingOptions const& options = {});

}  // namespace osora::db::analysis
