#include "topology/collectives/sweep_compare.hpp"

#include "base/robust.hpp"
#include "topology/collectives/sweep_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

namespace osora::topology {
namespace {

/// Sizes are called changed so that at most this share of them is wrong.
constexpr double kFalseShare = 0.05;
/// As many independent tests is a size: slower or faster, in windows most of which say the same.
constexpr std::size_t kTests = 3;
constexpr std::size_t kWindowMax = 8;  // sizes
/// Within a window a size counts by at most this much: one wrong measurement is no range.
constexpr double kDeviationsMax = 3;
/// A size that moved alone: single measurements have tails like Student's t of 3.
constexpr double kDeviationsAlone = 7;
/// Least correlation of neighbours in a window: what disturbs one often lasts for the next.
constexpr double kCorrelationMin = 0.2;

/// Of the median of so many measurements, relative to that of one.
double median_variance(std::size_t count) {
    auto const n = static_cast<double>(count);
    return count < 3 ? 1 / n : std::numbers::pi / 2 / n;
}

/// Relative standard error of a median, as far as its few repeats show it.
double disagreement(Repeats const& repeats) {
    if (repeats.size() < 2) return 0;
    auto const [middle, mad] = median_and_mad(repeats);
    double const one = mad * (repeats.size() == 2 ? std::numbers::sqrt2 : kMadToDeviation);
    return one / middle * std::sqrt(median_variance(repeats.size()));
}

CurveChange paired(SweepKey const& key, std::map<std::int64_t, Repeats> const& before,
                   std::map<std::int64_t, Repeats> const& after) {
    CurveChange curve{key, {}};
    for (auto const& [bytes, repeats] : before) {
        auto const found = after.find(bytes);
        if (found == after.end()) continue;
        SizeChange change{bytes, median(repeats), median(found->second)};
        // Of one measurement each, until the spread of one is known.
        change.spread =
            std::sqrt(median_variance(repeats.size()) + median_variance(found->second.size()));
        change.disagreement = std::hypot(disagreement(repeats), disagreement(found->second));
        curve.sizes.push_back(change);
    }
    return curve;
}

/// > 0: by how much the size is slower (or faster, `sign` -1), in logs.
double moved(SizeChange const& each, double sign) {
    return sign * std::log(each.ratio());
}

/// Chance that a normal value is this large.
double normal_tail(double deviations) {
    return std::erfc(deviations / std::numbers::sqrt2) / 2;
}

/// Of the sum of so many neighbours with a variance of 1 each, of which each has the share
/// `correlation` of the one before.
double variance_of_sum(std::size_t count, double correlation) {
    double variance = static_cast<double>(count), power = 1;
    for (std::size_t lag = 1; lag < count; ++lag) {
        power *= correlation;
        variance += 2 * static_cast<double>(count - lag) * power;
    }
    return variance;
}

/// The chance that sizes around `at` move like this though nothing changed: the least over windows
/// that contain it and in which each size moved by half of `limit`.
double chance_of(std::vector<SizeChange> const& sizes, std::size_t at, double sign, double limit,
                 double correlation) {
    double least = 1;
    for (std::size_t first = at; moved(sizes[first], sign) >= limit / 2; --first) {
        double sum = 0;
        for (std::size_t last = first; last < sizes.size() && last - first < kWindowMax; ++last) {
            double const by = moved(sizes[last], sign);
            if (by < limit / 2) break;
            double const deviations = by / sizes[last].spread;
            sum += std::min(deviations, kDeviationsMax);
            if (last < at) continue;
            std::size_t const count = last - first + 1;
            double const together = sum / std::sqrt(variance_of_sum(count, correlation));
            if (count > 1) least = std::min(least, normal_tail(together));
            if (count == 1 && deviations >= kDeviationsAlone) least = normal_tail(deviations);
        }
        if (first == 0 || at - first + 1 == kWindowMax) break;
    }
    return least;
}

struct Candidate {
    SizeChange* size;
    Change change;
    double p;
};

/// Marks those that Benjamini and Hochberg take of so many tests.
void mark(std::vector<Candidate>& candidates, std::size_t tests) {
    std::ranges::sort(candidates, {}, &Candidate::p);
    std::size_t taken = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        double const wrong = candidates[i].p * static_cast<double>(tests);
        if (wrong <= kFalseShare * static_cast<double>(i + 1)) taken = i + 1;
    }
    for (std::size_t i = 0; i < taken; ++i) candidates[i].size->change = candidates[i].change;
}

void judge(std::vector<CurveChange>& curves, double limit, double correlation) {
    double const alike = std::max(kCorrelationMin, correlation);
    std::vector<Candidate> candidates;
    std::size_t tests = 0;
    for (CurveChange& curve : curves) {
        auto& sizes = curve.sizes;
        tests += kTests * sizes.size();
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            double const sign = moved(sizes[i], 1) > 0 ? 1 : -1;
            if (moved(sizes[i], sign) < limit) continue;
            candidates.push_back({&sizes[i], sign > 0 ? Change::slower : Change::faster,
                                  chance_of(sizes, i, sign, limit, alike)});
        }
    }
    mark(candidates, tests);
}

void add_ranges(CurveChange const& curve, std::vector<RangeChange>& ranges) {
    auto const& sizes = curve.sizes;
    for (std::size_t i = 0; i < sizes.size();) {
        std::size_t end = i + 1;
        while (end < sizes.size() && sizes[end].change == sizes[i].change) ++end;
        if (sizes[i].change != Change::none) {
            RangeChange range{curve.key, sizes[i].size_bytes, sizes[end - 1].size_bytes, end - i};
            range.change = sizes[i].change;
            std::vector<double> ratios;
            for (std::size_t k = i; k < end; ++k) {
                ratios.push_back(sizes[k].ratio());
                if (std::abs(std::log(sizes[k].ratio())) < std::abs(std::log(range.most))) continue;
                range.most = sizes[k].ratio();
                range.most_bytes = sizes[k].size_bytes;
            }
            range.ratio = median(ratios);
            ranges.push_back(range);
        }
        i = end;
    }
}

std::size_t sizes_in(Sweep const& sweep) {
    std::size_t count = 0;
    for (auto const& [key, sizes] : sweep.curves) count += sizes.size();
    return count;
}

}  // namespace

SweepComparison compare_sweeps(Sweep const& before, Sweep const& after, double over) {
    SweepComparison comparison;
    for (auto const& [key, sizes] : before.curves) {
        auto const found = after.curves.find(key);
        if (found == after.curves.end()) continue;
        auto curve = paired(key, sizes, found->second);
        if (curve.sizes.empty()) continue;
        comparison.paired += curve.sizes.size();
        comparison.curves.push_back(std::move(curve));
    }
    comparison.only_before = sizes_in(before) - comparison.paired;
    comparison.only_after = sizes_in(after) - comparison.paired;
    SweepScatter const scatter(before, after, comparison.curves);
    std::vector<double> all;
    for (CurveChange& curve : comparison.curves) {
        for (SizeChange& each : curve.sizes) {
            all.push_back(scatter.of(curve.key, each.size_bytes));
            each.spread = std::max(each.spread * all.back(), each.disagreement);
        }
    }
    judge(comparison.curves, std::log1p(over), scatter.correlation());
    for (CurveChange const& curve : comparison.curves) add_ranges(curve, comparison.changes);
    if (!all.empty()) comparison.spread = median(all);
    std::ranges::stable_sort(comparison.changes, [](auto const& a, auto const& b) {
        if (a.change != b.change) return a.change == Change::slower;
        return std::abs(std::log(a.most)) > std::abs(std::log(b.most));
    });
    return comparison;
}

}  // namespace osora::topology
