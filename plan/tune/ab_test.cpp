#include "plan/tune/ab_test.hpp"

#include <fmt/format.h>
#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace osora::plan {
namespace {

constexpr double kErrorShare = 0.05;

std::vector<double> log_ratios(std::span<AbPair const> pairs) {
    std::vector<double> ratios;
    for (AbPair const& each : pairs) {
        bool const usable = std::isfinite(each.without_s) && std::isfinite(each.with_s) &&
                            each.without_s > 0 && each.with_s > 0;
        if (usable) ratios.push_back(std::log(each.with_s / each.without_s));
    }
    return ratios;
}

std::string percent(double share) {
    return fmt::format("{:.1f} %", 100 * share);
}

/// "saves 3.0 % of the step (1.2 % to 4.8 %, 5 pairs)", or "costs" likewise.
std::string figures_of(AbDecision const& decision, int pairs) {
    bool const saves = decision.gain >= 0;
    return fmt::format("{} {} of the step ({} to {}, {} pairs)", saves ? "saves" : "costs",
                       percent(std::abs(decision.gain)),
                       percent(saves ? decision.low : -decision.high),
                       percent(saves ? decision.high : -decision.low), pairs);
}

}  // namespace

AbDecision judge_ab(std::span<AbPair const> pairs, AbOptions const& options) {
    auto const ratios = log_ratios(pairs);
    auto const count = static_cast<int>(ratios.size());
    AbDecision decision;
    if (count < std::max(2, options.pairs_min)) {
        decision.reason = fmt::format("{} of at least {} pairs", count, options.pairs_min);
        return decision;
    }
    double mean = 0, squares = 0;
    for (double const each : ratios) mean += each / count;
    for (double const each : ratios) squares += (each - mean) * (each - mean);
    int const looks = std::max(1, options.pairs_max - options.pairs_min + 1);
    boost::math::students_t const distribution(count - 1);
    double const quantile =
        boost::math::quantile(complement(distribution, kErrorShare / 2 / looks));
    double const half = quantile * std::sqrt(squares / (count - 1) / count);
    // A time ratio r saves 1 - r of the step.
    decision.gain = 1 - std::exp(mean);
    decision.low = 1 - std::exp(mean + half);
    decision.high = 1 - std::exp(mean - half);
    auto const figures = figures_of(decision, count);
    if (decision.low > 0 && decision.gain >= options.least_gain) {
        decision.verdict = AbVerdict::better;
        decision.reason = figures;
    } else if (decision.high < 0) {
        decision.verdict = AbVerdict::worse;
        decision.reason = figures;
    } else if (decision.high < options.least_gain || count >= options.pairs_max) {
        decision.verdict = AbVerdict::same;
        decision.reason = figures + ": not beyond noise";
        if (decision.low > 0) decision.reason = figures + ": too little to keep";
    } else {
        decision.reason = figures;
    }
    return decision;
}

}  // namespace osora::plan
