// Empirical Bayes on the logarithm of measured over predicted. Each run has an individual part,
// whose variance grows with its distance to what is predicted; the part that all runs share is
// their mean, weighted by 1 / variance, of which the share mean^2 / (mean^2 + variance of the mean)
// is used: a small difference may be chance and is trusted less than a large one.
#pragma once

#include <algorithm>
#include <cmath>

namespace osora::plan {

/// The most likely factor, given runs' ratios (above 0) and the variances of their logarithms.
class LikelyFactor {
public:
    void add(double ratio, double variance) {
        constexpr double kMost = 3;  // e^3: beyond it the run belongs to another machine
        weight_ += 1 / variance;
        sum_ += std::clamp(std::log(ratio), -kMost, kMost) / variance;
    }
    /// 1 without runs.
    [[nodiscard]] double factor() const {
        if (weight_ == 0 || sum_ == 0) return 1;
        double const mean = sum_ / weight_;
        return std::exp(mean * mean * mean / (mean * mean + 1 / weight_));
    }

private:
    double weight_ = 0, sum_ = 0;
};

}  // namespace osora::plan
