#include "worker/train/adaptive_clip.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace osora::worker {
namespace {

constexpr double kDecay = 0.99;
constexpr double kDeviations = 3;
constexpr int kFirstSteps = 20;

}  // namespace

double adaptive_limit(NormHistory const& history) {
    if (history.steps < kFirstSteps) return std::numeric_limits<double>::infinity();
    return history.mean + kDeviations * std::sqrt(history.variance);
}

NormHistory with_norm(NormHistory const& history, double norm) {
    NormHistory next = history;
    ++next.steps;
    // Plain means at first: the weights of an exponential mean that began with its first value.
    double const weight = std::max(1.0 / next.steps, 1 - kDecay);
    double const step = std::min(norm, adaptive_limit(history)) - history.mean;
    next.mean += weight * step;
    next.variance = (1 - weight) * (history.variance + weight * step * step);
    return next;
}

}  // namespace osora::worker
