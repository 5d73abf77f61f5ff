// Medians in two passes: of all pairs, then of the pairs without a bad end.
#include "topology/probe/end_scores.hpp"

#include "base/check.hpp"
#include "base/robust.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace osora::topology {
namespace {

constexpr int kPassesMax = 6;
/// A single transfer has no second one to confirm it.
constexpr double kAloneFactor = 2.5;
constexpr double kErrorsAllowed = 4.5;         // standard errors of a median; good ends exceed it
                                               // with probability 1e-5
constexpr double kDeviationsPerMad = 1.4826;   // of normal noise
constexpr double kMedianInefficiency = 1.253;  // standard error of a median / of a mean

using Values = std::vector<PairValue>;

bool is_usable(PairValue const& each) {
    return std::isfinite(each.value) && each.value >= 0 && each.a != each.b;
}

/// Values of each end with the end at the other side.
struct OfEnd {
    double value;
    int other;
};

std::vector<std::vector<OfEnd>> by_end(std::size_t count, Values const& values) {
    std::vector<std::vector<OfEnd>> ends(count);
    for (PairValue const& each : values) {
        ends[static_cast<std::size_t>(each.a)].push_back({each.value, each.b});
        ends[static_cast<std::size_t>(each.b)].push_back({each.value, each.a});
    }
    return ends;
}

/// The second best, so that one lucky transfer clears nobody; of fewer than three the best.
double second_best(std::vector<double> const& values) {
    double best = 0, second = 0;
    for (double const value : values) {
        if (value > best) {
            second = std::exchange(best, value);
        } else {
            second = std::max(second, value);
        }
    }
    return values.size() < 3 ? best : second;
}

/// By the best result of each end: most pairs may be low while most ends are good.
void first_guess(EndScores& scores, std::vector<std::vector<OfEnd>> const& ends,
                 double least_drop) {
    std::vector<double> best, known;
    for (auto const& of_end : ends) {
        std::vector<double> values;
        for (OfEnd const& each : of_end) values.push_back(each.value);
        best.push_back(second_best(values));
        if (!values.empty()) known.push_back(best.back());
    }
    double const usual = known.empty() ? 0 : median(known);
    for (std::size_t end = 0; end < ends.size(); ++end) {
        if (ends[end].empty()) continue;
        scores.ends[end].of_median = usual > 0 ? best[end] / usual : 0;
        scores.ends[end].bad = scores.ends[end].of_median < 1 - least_drop;
    }
}

void find_median(EndScores& scores, Values const& values) {
    std::vector<double> clean, all;
    for (PairValue const& each : values) {
        all.push_back(each.value);
        bool const bad = scores.ends[static_cast<std::size_t>(each.a)].bad ||
                         scores.ends[static_cast<std::size_t>(each.b)].bad;
        if (!bad) clean.push_back(each.value);
    }
    if (clean.empty()) clean = std::move(all);
    scores.median = clean.empty() ? 0 : median(clean);
}

/// Relative to what each pair should reach, the slower of its ends: bad ends do not count as noise.
void find_noise(EndScores& scores, Values const& values) {
    std::vector<double> residuals;
    for (PairValue const& each : values) {
        double const a = scores.ends[static_cast<std::size_t>(each.a)].of_median;
        double const b = scores.ends[static_cast<std::size_t>(each.b)].of_median;
        double const expected = scores.median * std::min({1.0, a, b});
        if (expected > 0) residuals.push_back(each.value / expected);
    }
    scores.noise = residuals.empty() ? 0 : kDeviationsPerMad * median_and_mad(residuals).mad;
}

/// A slow end slows every transfer; an end on a busy machine slows some. So the second best must
/// also be low, if only by half as much, because noise raises it.
void judge(EndScore& end, std::vector<OfEnd> const& values, EndScores const& scores,
           double least_drop) {
    std::vector<double> clean, all;
    for (OfEnd const& each : values) {
        all.push_back(each.value);
        if (!scores.ends[static_cast<std::size_t>(each.other)].bad) clean.push_back(each.value);
    }
    end.partners_clean = static_cast<int>(clean.size());
    auto const& used = clean.empty() ? all : clean;
    end.samples = static_cast<int>(used.size());
    end.of_median = scores.median > 0 ? median(used) / scores.median : 0;
    double const error =
        kMedianInefficiency * scores.noise / std::sqrt(std::max(1.0, double(used.size())));
    double const least = end.samples < 2 ? kAloneFactor * least_drop : least_drop;
    end.threshold = 1 - std::max(least, kErrorsAllowed * error);
    double const reached = scores.median > 0 ? second_best(used) / scores.median : 0;
    end.bad = end.of_median < end.threshold && reached < (1 + end.threshold) / 2;
}

}  // namespace

EndScores score_ends(int count, Values const& values, double least_drop) {
    EndScores scores;
    scores.ends.resize(static_cast<std::size_t>(std::max(0, count)));
    Values usable;
    std::ranges::copy_if(values, std::back_inserter(usable), is_usable);
    for (PairValue const& each : usable) {
        OSORA_CHECK_LE(0, std::min(each.a, each.b));
        OSORA_CHECK_LT(std::max(each.a, each.b), count);
    }
    auto const ends = by_end(scores.ends.size(), usable);
    first_guess(scores, ends, least_drop);
    for (int pass = 0; pass < kPassesMax; ++pass) {
        find_median(scores, usable);
        find_noise(scores, usable);
        auto judged = scores.ends;
        bool changed = false;
        for (std::size_t end = 0; end < ends.size(); ++end) {
            if (ends[end].empty()) continue;
            judge(judged[end], ends[end], scores, least_drop);
            changed = changed || judged[end].bad != scores.ends[end].bad;
        }
        scores.ends = std::move(judged);
        if (!changed) break;
    }
    return scores;
}

}  // namespace osora::topology
