#include "topology/collectives/sweep_compare.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace osora::topology {
namespace {

/// Sizes whose spreads differ: latency, in between, bandwidth.
constexpr std::array<std::int64_t, 2> kClassBytes{64 << 10, 1 << 20};
/// Evidence for a change: the mean over neighbouring sizes, in standard errors.
constexpr double kStandardErrors = 3;
/// Of the log ratios of neighbouring sizes: what disturbs one often lasts for the next.
constexpr double kCorrelation = 0.3;
constexpr std::size_t kWindowMax = 8;  // sizes
/// Of absolute deviations: heavy tails count, as those of small all_to_alls have.
constexpr double kTailShare = 0.9, kTailDeviations = 1.645;

std::size_t class_of(std::int64_t bytes) {
    std::size_t index = 0;
    while (index < kClassBytes.size() && bytes >= kClassBytes[index]) ++index;
    return index;
}

/// Measurements that scatter alike: one collective on as many ranks, sizes of one class.
struct Kind {
    Collective collective;
    int ranks;
    std::size_t size_class;
    friend auto operator<=>(Kind const&, Kind const&) = default;
};
Kind kind_of(SweepKey const& key, std::int64_t bytes) {
    return {key.collective, key.shape.ranks, class_of(bytes)};
}

/// Relative standard deviation of one measurement.
class SpreadEstimate {
public:
    void add(Sweep const& sweep) {
        for (auto const& [key, sizes] : sweep.curves)
            for (auto const& [bytes, repeats] : sizes) add(kind_of(key, bytes), repeats);
    }
    /// Of a curve of log ratios: what is left of each after the line between its neighbours.
    void add(CurveChange const& curve) {
        auto const& sizes = curve.sizes;
        auto const log_ratio = [&](std::size_t i) { return std::log(sizes[i].ratio()); };
        for (std::size_t i = 1; i + 1 < sizes.size(); ++i) {
            double const left = log_ratio(i) - (log_ratio(i - 1) + log_ratio(i + 1)) / 2;
            // Its variance is 3/2 of a ratio's, which is twice a measurement's.
            scatter_[kind_of(curve.key, sizes[i].size_bytes)].push_back(std::abs(left) /
                                                                        std::sqrt(3.0));
        }
    }
    /// 0 where nothing shows it.
    [[nodiscard]] double of(Kind const& kind) const {
        auto const& from = repeats_.contains(kind) ? repeats_ : scatter_;
        auto const found = from.find(kind);
        if (found == from.end()) return 0;
        std::vector<double> values = found->second;
        std::ranges::sort(values);
        auto const tail = static_cast<std::size_t>(kTailShare * static_cast<double>(values.size()));
        return std::max(kMadToDeviation * median(values), values.at(tail) / kTailDeviations);
    }

private:
    void add(Kind const& kind, Repeats const& repeats) {
        if (repeats.size() < 2) return;
        double const middle = median(repeats);
        auto const count = static_cast<double>(repeats.size());
        // Deviations from a median of few are smaller than those from the truth.
        double const grown = std::sqrt(count / (count - 1));
        for (double const each : repeats)
            repeats_[kind].push_back(grown * std::abs(each / middle - 1));
    }

    std::map<Kind, std::vector<double>> repeats_, scatter_;
};

CurveChange paired(SweepKey const& key, std::map<std::int64_t, Repeats> const& before,
                   std::map<std::int64_t, Repeats> const& after) {
    CurveChange curve{key, {}};
    for (auto const& [bytes, repeats] : before) {
        auto const found = after.find(bytes);
        if (found == after.end()) continue;
        SizeChange change{bytes, median(repeats), median(found->second)};
        // Of one measurement each, until the spread of one is known.
        change.spread = std::sqrt(1.0 / static_cast<double>(repeats.size()) +
                                  1.0 / static_cast<double>(found->second.size()));
        curve.sizes.push_back(change);
    }
    return curve;
}

/// > 0: by how much the size is slower (or faster, `sign` -1), in logs.
double moved(SizeChange const& each, double sign) {
    return sign * std::log(each.ratio());
}

/// Whether sizes [first, last] moved together by more than chance: their mean, weighted by the
/// inverse of each variance.
bool significant(std::vector<SizeChange> const& sizes, std::size_t first, std::size_t last,
                 double sign) {
    double weights = 0, sum = 0;
    for (std::size_t i = first; i <= last; ++i) {
        double const variance = sizes[i].spread * sizes[i].spread;
        if (variance == 0) return true;
        weights += 1 / variance;
        sum += moved(sizes[i], sign) / variance;
    }
    auto const more = static_cast<double>(last - first);
    return sum / weights >= kStandardErrors * std::sqrt((1 + kCorrelation * more) / weights);
}

/// Whether some range of neighbours that moved by half of `limit` and contains `at` did.
bool supported(std::vector<SizeChange> const& sizes, std::size_t at, double sign, double limit) {
    for (std::size_t first = at; moved(sizes[first], sign) >= limit / 2; --first) {
        for (std::size_t last = at; last < sizes.size() && last - first < kWindowMax; ++last) {
            if (moved(sizes[last], sign) < limit / 2) break;
            if (significant(sizes, first, last, sign)) return true;
        }
        if (first == 0) break;
    }
    return false;
}

void judge(CurveChange& curve, double limit) {
    auto& sizes = curve.sizes;
    for (auto const& [change, sign] : {std::pair{Change::slower, 1.0}, {Change::faster, -1.0}}) {
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            if (moved(sizes[i], sign) >= limit && supported(sizes, i, sign, limit))
                sizes[i].change = change;
        }
    }
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
    SpreadEstimate estimate;
    estimate.add(before);
    estimate.add(after);
    for (auto const& [key, sizes] : before.curves) {
        auto const found = after.curves.find(key);
        if (found == after.curves.end()) continue;
        auto curve = paired(key, sizes, found->second);
        if (curve.sizes.empty()) continue;
        estimate.add(curve);
        comparison.paired += curve.sizes.size();
        comparison.curves.push_back(std::move(curve));
    }
    comparison.only_before = sizes_in(before) - comparison.paired;
    comparison.only_after = sizes_in(after) - comparison.paired;
    std::vector<double> all;
    for (CurveChange& curve : comparison.curves) {
        for (SizeChange& each : curve.sizes) {
            double const of_one = estimate.of(kind_of(curve.key, each.size_bytes));
            each.spread *= of_one;
            all.push_back(of_one);
        }
        judge(curve, std::log1p(over));
        add_ranges(curve, comparison.changes);
    }
    if (!all.empty()) comparison.spread = median(all);
    std::ranges::stable_sort(comparison.changes, [](auto const& a, auto const& b) {
        if (a.change != b.change) return a.change == Change::slower;
        return std::abs(std::log(a.most)) > std::abs(std::log(b.most));
    });
    return comparison;
}

}  // namespace osora::topology
