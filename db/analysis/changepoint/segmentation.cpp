#include "db/analysis/changepoint/segmentation.hpp"

#include "base/robust.hpp"
#include "db/analysis/changepoint/partition.hpp"
#include "db/analysis/changepoint/significance.hpp"
#include "db/analysis/changepoint/two_modes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace osora::db::analysis::changepoint {
namespace {

using Values = std::vector<double>;

constexpr double kClip = 3;  // in units of the noise
constexpr double kPenalty = 3.25, kSmallSample = 8;
constexpr double kCorrelationMax = 0.9;
constexpr int kPasses = 3;
constexpr double kClippedShareMax = 0.15;  // above this the values spread wider than their noise
constexpr double kRangeNoisesMax = 1e6;    // the values for partition()
constexpr double kIntervalNoises2 = 5;     // excess over the best cost that rules out a place
constexpr std::size_t kRankTestMin = 5;

/// The series on the scale that is analysed, with what is known of its noise.
struct Scaled {
    Values values;
    bool logarithms = false;
    double level = 1;  // noise is a share of this
    double noise = 0, correlation = 0;

    [[nodiscard]] double inflation() const { return (1 + correlation) / (1 - correlation); }
};

Values slice(std::span<double const> values, Segment const& part) {
    auto const from =
        values.subspan(static_cast<std::size_t>(part.start), static_cast<std::size_t>(part.size()));
    return {from.begin(), from.end()};
}

double quantile(Values values, double share) {
    auto const at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(at));
    return values[at];
}

Scaled scaled(std::span<double const> values, SegmentationOptions const& options) {
    Scaled series;
    series.logarithms = std::ranges::all_of(values, [](double value) { return value > 0; });
    Values sizes;
    for (double const value : values) {
        series.values.push_back(series.logarithms ? std::log(value) : value);
        if (value != 0) sizes.push_back(std::abs(value));
    }
    if (!series.logarithms && !sizes.empty()) series.level = median(std::move(sizes));
    auto const [low, high] = std::ranges::minmax(series.values);
    double const floor =
        std::max(options.noise_floor * series.level, (high - low) / kRangeNoisesMax);
    Values steps;
    for (std::size_t i = 1; i < values.size(); ++i) {
        steps.push_back(std::abs(series.values[i] - series.values[i - 1]));
    }
    double const difference = kMadToDeviation * median(std::move(steps));
    series.noise = std::max(floor, difference / std::numbers::sqrt2);
    return series;
}

Values residuals(Values const& values, std::vector<int> const& cuts) {
    Values residuals;
    for (auto const& part : segments_between(cuts, static_cast<int>(values.size()))) {
        Values const own = slice(values, part);
        double const level = median(own);
        for (double const value : own) residuals.push_back(value - level);
    }
    return residuals;
}

std::vector<int> cut(Scaled const& series, SegmentationOptions const& options) {
    auto const count = static_cast<double>(series.values.size());
    double const middle = median(series.values);
    Values in_noises;
    for (double const value : series.values) in_noises.push_back((value - middle) / series.noise);
    double const penalty = kPenalty * std::log(count) * (1 + kSmallSample / count);
    return partition(in_noises, {.clip = kClip,
                                 .penalty = penalty * series.inflation(),
                                 .min_segment = options.min_segment});
}

/// Autocorrelation of neighbours, clipped; corrected for the bias of having fitted the level.
double correlation_of(Values residuals, double clip) {
    double squares = 0, products = 0;
    for (double& each : residuals) each = std::clamp(each, -clip, clip);
    for (std::size_t i = 0; i < residuals.size(); ++i) {
        squares += residuals[i] * residuals[i];
        if (i > 0) products += residuals[i] * residuals[i - 1];
    }
    double const plain = squares > 0 ? products / squares : 0;
    double const bias = (1 + 3 * plain) / static_cast<double>(residuals.size());
    return std::clamp(plain + bias, 0.0, kCorrelationMax);
}

/// Alternates levels and noise until they agree.
std::vector<int> fit(Scaled& series, SegmentationOptions const& options) {
    std::vector<int> cuts;
    for (int pass = 0; pass < kPasses; ++pass) {
        cuts = cut(series, options);
        Values rest = residuals(series.values, cuts);
        double const clip = kClip * series.noise;
        double const correlation = correlation_of(rest, clip);
        for (double& each : rest) each = std::abs(each);
        double noise = std::max(series.noise, kMadToDeviation * median(rest));
        auto const clipped = std::ranges::count_if(rest, [&](double each) { return each >= clip; });
        if (static_cast<double>(clipped) > kClippedShareMax * static_cast<double>(rest.size())) {
            noise = std::max(noise, quantile(rest, 0.95) / 2);
        }
        bool const settled =
            std::abs(correlation - series.correlation) < 0.02 && noise < 1.02 * series.noise;
        series.correlation = correlation;
        series.noise = noise;
        if (settled) break;
    }
    return cuts;
}

/// The change at cuts[i].
ChangePoint change_at(std::span<double const> values, std::vector<int> const& cuts, std::size_t i) {
    int const start = i == 0 ? 0 : cuts[i - 1];
    int const stop = i + 1 < cuts.size() ? cuts[i + 1] : static_cast<int>(values.size());
    ChangePoint point;
    point.index = cuts[i];
    point.before = median(slice(values, {start, cuts[i]}));
    point.after = median(slice(values, {cuts[i], stop}));
    return point;
}

/// The changes at the cuts, except those below the minimum effect: removes the smallest first, and
/// recomputes its neighbours.
std::vector<ChangePoint> large_changes(std::span<double const> values, std::vector<int> cuts,
                                       double min_effect) {
    std::vector<ChangePoint> points;
    for (std::size_t i = 0; i < cuts.size(); ++i) points.push_back(change_at(values, cuts, i));
    while (!points.empty()) {
        auto const smallest = std::ranges::min_element(
            points, {}, [](ChangePoint const& point) { return std::abs(point.effect()); });
        if (std::abs(smallest->effect()) >= min_effect) break;
        auto const at = smallest - points.begin();
        cuts.erase(cuts.begin() + at);
        points.erase(smallest);
        auto const i = static_cast<std::size_t>(at);
        if (i > 0) points[i - 1] = change_at(values, cuts, i - 1);
        if (i < cuts.size()) points[i] = change_at(values, cuts, i);
    }
    return points;
}

/// The places whose cost, with both levels fixed, is close to that of the best.
void locate(Scaled const& series, Segment const& left, Segment const& right, ChangePoint& point) {
    double const before = median(slice(series.values, left));
    double const after = median(slice(series.values, right));
    auto const cost = [&](int i, double level) {
        double const rest = (series.values[static_cast<std::size_t>(i)] - level) / series.noise;
        return std::min(rest * rest, kClip * kClip);
    };
    Values costs{0};  // cost of a change at left.start + i, minus the cost at left.start
    for (int i = left.start; i < right.stop; ++i) {
        costs.push_back(costs.back() + cost(i, before) - cost(i, after));
    }
    double const limit = *std::min_element(costs.begin() + 1, costs.end() - 1) +
                         kIntervalNoises2 * series.inflation();
    point.lo = point.hi = point.index;
    for (int at = left.start + 1; at < right.stop; ++at) {
        if (costs[static_cast<std::size_t>(at - left.start)] > limit) continue;
        point.lo = std::min(point.lo, at);
        point.hi = std::max(point.hi, at);
    }
}

double p_of_split(Scaled const& series, Segment const& left, Segment const& right) {
    Values const before = slice(series.values, left), after = slice(series.values, right);
    if (std::min(before.size(), after.size()) >= kRankTestMin) {
        return mann_whitney_p(before, after);
    }
    // A median of n normal values has a variance of pi / 2n.
    double const n = left.size(), m = right.size();
    double const error = series.noise * std::sqrt(std::numbers::pi / 2 * (1 / n + 1 / m));
    return student_t_p((median(after) - median(before)) / error, n + m - 2);
}

/// Of the split between two segments, which could have been elsewhere between their outer ends.
double p_between(Scaled const& series, Segment const& left, Segment const& right, int min_segment) {
    int const splits = left.size() + right.size() - 2 * min_segment + 1;
    return p_of_best(p_of_split(series, left, right), std::max(1, splits));
}

/// The cuts that were left out, each with the levels of its neighbours.
std::vector<ChangePoint> small_changes(std::span<double const> values, Scaled const& series,
                                       std::vector<int> const& all, std::vector<int> const& kept,
                                       int min_segment) {
    constexpr double kSure = 0.001;
    std::vector<ChangePoint> small;
    auto const parts = segments_between(all, static_cast<int>(values.size()));
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (std::ranges::count(kept, all[i]) > 0) continue;
        ChangePoint point = change_at(values, all, i);
        locate(series, parts[i], parts[i + 1], point);
        point.p = p_between(series, parts[i], parts[i + 1], min_segment);
        if (point.p <= kSure) small.push_back(point);
    }
    return small;
}

}  // namespace

Segmentation robust_change_points(std::span<double const> values,
                                  SegmentationOptions const& options) {
    Segmentation result;
    if (static_cast<int>(values.size()) < values_needed(options)) return result;
    Scaled series = scaled(values, options);
    result.modes = two_modes(series.values);
    if (result.modes) {
        series.noise = std::max(series.noise, (result.modes->high - result.modes->low) / 2);
        if (series.logarithms) {
            result.modes->low = std::exp(result.modes->low);
            result.modes->high = std::exp(result.modes->high);
        }
    }
    auto const all = fit(series, options);
    result.min_effect = options.min_effect;
    result.points = large_changes(values, all, options.min_effect);
    std::vector<int> cuts;
    for (auto const& point : result.points) cuts.push_back(point.index);
    result.small = small_changes(values, series, all, cuts, options.min_segment);
    auto const parts = segments_between(cuts, static_cast<int>(values.size()));
    for (std::size_t i = 0; i < result.points.size(); ++i) {
        locate(series, parts[i], parts[i + 1], result.points[i]);
        result.points[i].p = p_between(series, parts[i], parts[i + 1], options.min_segment);
    }
    result.noise = series.noise / series.level;
    result.correlation = series.correlation;
    return result;
}

}  // namespace osora::db::analysis::changepoint
