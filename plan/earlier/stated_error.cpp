#include "plan/earlier/stated_error.hpp"

#include <algorithm>
#include <cmath>

namespace osora::plan {
namespace {

constexpr double kPriorRuns = 4;
/// One run that went wrong (a shared machine, a slow disk) says little about the next.
constexpr double kErrorMax = 1;

/// 90th percentile of Student's t, within 1 % from 4 degrees of freedom on.
double t_quantile(double degrees) {
    return 1.2816 + 1.0 / degrees;
}

}  // namespace

double stated_error(double prior, std::span<double const> errors) {
    double const sigma = prior / t_quantile(kPriorRuns);
    double sum = kPriorRuns * sigma * sigma, runs = kPriorRuns;
    for (double const error : errors) {
        if (!std::isfinite(error)) continue;
        sum += std::pow(std::min(error, kErrorMax), 2);
        ++runs;
    }
    return t_quantile(runs) * std::sqrt(sum / runs);
}

}  // namespace osora::plan
