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

/// What is known of one collective in one group shape.
struct CollectiveFit {
    CostLaw law;    // the plain law, no limit: for a planner
    CostLaw shape;  // with the limit of the square root: what predictions start from
    std::vector<SizeTime> samples;   // one a size, ascending, not falling; median of repeats
    std::size_t first_fitted = 0;    // samples below are used only for sizes below it
    double knee = 0;                 // 0 to kKneeWeight: how far max(latency, transfer) counts
    std::string method;              // for people: what the predictions are made of
    std::vector<std::string> notes;  // what was left out or changed
};

/// Non-negative least squares on relative error over the sizes from 1 MiB up (over all, when fewer
/// than two are). Two sizes: a + b S. invalid_input: a size or time that is not above zero or not
/// finite, a bad shape; not_found: fewer than two sizes.
[[nodiscard]] Result<CollectiveFit> fit_collective(GroupShape const& shape,
                                                   std::span<SizeTime const> samples);

/// Time in us of `size_bytes` >= 1.
[[nodiscard]] double predict_us(CollectiveFit const& fit, std::int64_t size_bytes);

/// How far off a prediction may be, as a share of it: on the published sweeps nine of ten were
/// nearer (RFC 006). 1 below the smallest size where nothing under 1 MiB was measured.
[[nodiscard]] double expected_error(CollectiveFit const& fit, std::int64_t size_bytes);

/// Law with basis {1, S, sqrt(min(S, limit))}, or {1, S} when `with_sqrt` is false, of least
/// squared relative error under a, b, c >= 0. Samples as fit_collective leaves them.
[[nodiscard]] CostLaw fit_law(std::span<SizeTime const> samples, double sqrt_limit_bytes,
                              bool with_sqrt = true);

}  // namespace osora::topology
