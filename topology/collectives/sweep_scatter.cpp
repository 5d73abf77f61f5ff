#include "topology/collectives/sweep_scatter.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace osora::topology {
namespace {

/// Sizes whose spreads differ: latency, in between, bandwidth.
constexpr std::array<std::int64_t, 2> kClassBytes{64 << 10, 1 << 20};
/// Least scatter, and that of a measurement of which nothing shows it.
constexpr double kScatterMin = 0.002, kScatterUnknown = 0.02;
constexpr double kCorrelationMax = 0.9;
/// From so many deviations on, repeats alone say how one kind scatters.
constexpr std::size_t kRepeatsEnough = 8;
/// Of absolute deviations: heavy tails count, as those of small all_to_alls have; the largest do
/// not, because a size that really changed bends its curve at three sizes.
constexpr double kTailShare = 0.8, kTailDeviations = 1.2816;
/// Of a middle value minus the mean of its two neighbours, if they are independent.
constexpr double kBendVariance = 1.5;
/// So many steps say half of what many would: few show a correlation by chance.
constexpr double kStepsFew = 40;
/// In deviations: a larger step is a change, not noise.
constexpr double kStepMax = 3;

std::size_t class_of(std::int64_t bytes) {
    std::size_t index = 0;
    while (index < kClassBytes.size() && bytes >= kClassBytes[index]) ++index;
    return index;
}

double middle_of(std::vector<double> const& values) {
    return kMadToDeviation * median(values);
}

double tail_of(std::vector<double> values) {
    std::ranges::sort(values);
    auto const at = static_cast<std::size_t>(kTailShare * static_cast<double>(values.size()));
    return values.at(at) / kTailDeviations;
}

double log_ratio(SizeChange const& each) {
    return std::log(each.ratio());
}

/// Where each disturbance is a share r of the one before and something new, steps over two sizes
/// have 1 + r times the variance of steps over one.
double correlation_of(std::vector<CurveChange> const& curves, Deviations const& scatter) {
    std::vector<double> one, two;
    for (CurveChange const& curve : curves) {
        auto const& sizes = curve.sizes;
        for (std::size_t i = 2; i < sizes.size(); ++i) {
            double const unit = sizes[i].spread * scatter.of(curve.key, sizes[i - 1].size_bytes);
            if (unit == 0) continue;
            one.push_back(std::abs(log_ratio(sizes[i]) - log_ratio(sizes[i - 1])) / unit);
            two.push_back(std::abs(log_ratio(sizes[i]) - log_ratio(sizes[i - 2])) / unit);
        }
    }
    double const most = kStepMax * kMadToDeviation * median(two);
    double one_square = 0, two_square = 0, count = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
        if (one[i] > most || two[i] > most) continue;
        one_square += one[i] * one[i];
        two_square += two[i] * two[i];
        ++count;
    }
    if (one_square == 0) return 0;
    double const r = two_square / one_square - 1;
    double const trust = count * count / (count * count + kStepsFew * kStepsFew);
    return std::clamp(trust * r, 0.0, kCorrelationMax);
}

}  // namespace

Deviations::Kind Deviations::kind_of(SweepKey const& key, std::int64_t bytes) {
    return {class_of(bytes), static_cast<int>(key.collective), key.shape.ranks};
}

void Deviations::add(SweepKey const& key, std::int64_t bytes, double deviation) {
    Kind kind = kind_of(key, bytes);
    values_[kind].push_back(deviation);
    kind.ranks = kAny;
    values_[kind].push_back(deviation);
    kind.collective = kAny;
    values_[kind].push_back(deviation);
}

double Deviations::of(SweepKey const& key, std::int64_t bytes) const {
    Kind const kind = kind_of(key, bytes);
    Kind const all_ranks{kind.size_class, kind.collective, kAny};
    Kind const all{kind.size_class, kAny, kAny};
    double scatter = 0;
    for (Kind const& each : {kind, all_ranks, all}) {
        auto const found = values_.find(each);
        if (found == values_.end()) continue;
        scatter = std::max(scatter, middle_of(found->second));
        if (each == all_ranks) scatter = std::max(scatter, tail_of(found->second));
    }
    return scatter;
}

std::size_t Deviations::count(SweepKey const& key, std::int64_t bytes) const {
    auto const found = values_.find(kind_of(key, bytes));
    return found == values_.end() ? 0 : found->second.size();
}

SweepScatter::SweepScatter(Sweep const& before, Sweep const& after,
                           std::vector<CurveChange> const& curves) {
    add_repeats(before);
    add_repeats(after);
    for (CurveChange const& curve : curves) add_bends(curve);
    correlation_ = correlation_of(curves, bends_);
}

void SweepScatter::add_repeats(Sweep const& sweep) {
    for (auto const& [key, sizes] : sweep.curves) {
        for (auto const& [bytes, repeats] : sizes) {
            if (repeats.size() < 2) continue;
            double const middle = median(repeats);
            auto const count = static_cast<double>(repeats.size());
            // Deviations from a median of few are smaller than those from the truth.
            double const grown = std::sqrt(count / (count - 1));
            for (double const each : repeats)
                repeats_.add(key, bytes, grown * std::abs(each / middle - 1));
        }
    }
}

void SweepScatter::add_bends(CurveChange const& curve) {
    auto const& sizes = curve.sizes;
    for (std::size_t i = 1; i + 1 < sizes.size(); ++i) {
        // What is left after the line between its neighbours; independent, its variance is 3/2.
        double const left =
            log_ratio(sizes[i]) - (log_ratio(sizes[i - 1]) + log_ratio(sizes[i + 1])) / 2;
        bends_.add(curve.key, sizes[i].size_bytes,
                   std::abs(left) / (std::sqrt(kBendVariance) * sizes[i].spread));
    }
}

double SweepScatter::of(SweepKey const& key, std::int64_t bytes) const {
    double const repeats = repeats_.of(key, bytes);
    if (repeats_.count(key, bytes) >= kRepeatsEnough) return std::max(kScatterMin, repeats);
    double const r = correlation_;
    // Of neighbours that are alike, a bend shows less than the scatter.
    double const shown = (kBendVariance - 2 * r + r * r / 2) / kBendVariance;
    double const scatter = std::max(repeats, bends_.of(key, bytes) / std::sqrt(shown));
    return scatter == 0 ? kScatterUnknown : std::max(kScatterMin, scatter);
}

}  // namespace osora::topology
