// Cost of a collective from a few measured sizes: t(S) = a + b S + c sqrt(S), and predictions
// from it. Pure. Formulas, evidence and limits: docs/rfc/006.
#pragma once

#include "base/result.hpp"
#include "topology/collectives/collective.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace osora::topology {

struct SizeTime {
    std::int64_t size_bytes = 0;
    double time_us = 0;
    friend bool operator==(SizeTime const&, SizeTime const&) = default;
};

/// t(S) = a + b S + c sqrt(min(S, limit)); S in bytes, t in us; a, b, c >= 0.
struct CostLaw {
    double a_us = 0, b_us_per_byte = 0, c_us_per_sqrt_byte = 0;
    double sqrt_limit_bytes = 0;  // 0: none
    [[nodiscard]] double time_us(double size_bytes) const;
};

/// The fit of one collective in one group shape.
struct CollectiveFit {
    CostLaw law;                     // the plain law, no limit: for a planner
    CostLaw shape;                   // with the limit of the square root: the base of predictions
    std::vector<SizeTime> samples;   // one per size, ascending, not decreasing; median of repeats
    std::size_t first_fitted = 0;    // samples below this are used only for sizes below it
    double knee = 0;                 // 0 to kKneeWeight: weight of max(latency, transfer)
    std::string method;              // for people: the basis of the predictions
    std::vector<std::string> notes;  // what was left out or changed
};

/// Non-negative least squares on relative error over the sizes from 1 MiB up (over all, if fewer
/// than two are). Two sizes: a + b S. invalid_input: a size or time that is not above zero or not
/// finite, an invalid shape; not_found: fewer than two sizes.
[[nodiscard]] Result<CollectiveFit> fit_collective(GroupShape const& shape,
                                                   std::span<SizeTime const> samples);

/// Time in us of `size_bytes` >= 1.
[[nodiscard]] double predict_us(CollectiveFit const& fit, std::int64_t size_bytes);

/// Expected relative error of a prediction: on the published sweeps nine of ten were better (RFC
/// 006). 1 below the smallest size if nothing under 1 MiB was measured.
[[nodiscard]] double expected_error(CollectiveFit const& fit, std::int64_t size_bytes);

/// Law with basis {1, S, sqrt(min(S, limit))}, or {1, S} if `with_sqrt` is false, that minimises
/// the squared relative error under a, b, c >= 0. Samples as prepared by fit_collective.
[[nodiscard]] CostLaw fit_law(std::span<SizeTime const> samples, double sqrt_limit_bytes,
                              bool with_sqrt = true);

}  // namespace osora::topology
