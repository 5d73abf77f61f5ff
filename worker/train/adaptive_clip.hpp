// optim.grad_clip = "adaptive": limits gradients by their recent norms, so that one bad batch does
// little harm and no limit has to be guessed. All ranks see the same norm and decide alike. Pure.
#pragma once

#include <boost/describe.hpp>

namespace osora::worker {

/// Mean and variance of the norms of recent steps, with exponential weights (decay 0.99), as in
/// Open-Sora-Plan 1.5 (Report-v1.5.0). A clipped step counts with its limit: a lasting rise is
/// followed within some hundred steps, a single outlier is not.
struct NormHistory {
    double mean = 0, variance = 0;
    int steps = 0;
    friend bool operator==(NormHistory const&, NormHistory const&) = default;
};
BOOST_DESCRIBE_STRUCT(NormHistory, (), (mean, variance, steps))

/// The largest norm that is not clipped: mean + 3 standard deviations; infinite in the first 20
/// steps.
[[nodiscard]] double adaptive_limit(NormHistory const& history);
/// After a step whose gradients had this norm (finite) before clipping.
[[nodiscard]] NormHistory with_norm(NormHistory const& history, double norm);

}  // namespace osora::worker
