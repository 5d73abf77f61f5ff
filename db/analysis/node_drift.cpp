#include "db/analysis/node_drift.hpp"

#include "base/robust.hpp"
#include "db/analysis/changepoint/false_discovery.hpp"
#include "db/analysis/changepoint/series_verdict.hpp"
#include "db/analysis/changepoint/split_null.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace osora::db::analysis {
namespace {

using namespace changepoint;

constexpr std::int64_t kDayUs = 86'400'000'000;
constexpr int kDrawsMin = 20'000, kDrawsMax = 4'000'000;
constexpr int kDrawsATest = 200;      // ten times this reach what one node of all must reach
constexpr double kCloseLook = 0.002;  // below this p more draws are made
constexpr double kCorrelationMax = 0.9;

/// One node in one measure, oldest probe first.
struct Series {
    std::vector<NodeScore const*> scores;
    std::vector<double> values;  // of the median
    Segmentation robust;
    double noise = 0;           // of a value, as a share; at least usual_noise
    double usual_noise = 0;     // of most nodes
    std::vector<double> rests;  // logarithms, from the level of each
    [[nodiscard]] int count() const { return static_cast<int>(values.size()); }
};
/// All nodes share their noise within one measure.
using Family = std::vector<Series>;

bool usable(NodeScore const& score) {
    return !score.host.empty() && std::isfinite(score.rate) && score.rate > 0 &&
           std::isfinite(score.of_median) && score.of_median >= 0;
}

/// Sorted by time, one row per node of a probe (the slowest of several), with of_median set; probes
/// with too few nodes are left out and counted.
std::vector<NodeScore> comparable(std::vector<NodeScore> scores, NodeDriftOptions const& options,
                                  NodeDriftReport& report) {
    std::erase_if(scores, [](auto const& score) { return !usable(score); });
    auto const key = [](NodeScore const& score) {
        return std::tuple(score.submitted_us.value_or(0), score.run_id,
                          std::string_view(score.path), std::string_view(score.host), score.rate);
    };
    std::ranges::sort(scores, {}, key);
    auto const again = std::ranges::unique(scores, {}, [](NodeScore const& score) {
        return std::tuple(score.run_id, std::string_view(score.path), std::string_view(score.host));
    });
    scores.erase(again.begin(), again.end());
    std::vector<NodeScore> kept;
    std::set<std::int64_t> counted, small;
    for (auto from = scores.begin(); from != scores.end();) {
        auto const to = std::find_if(from, scores.end(), [&](NodeScore const& score) {
            return score.run_id != from->run_id || score.path != from->path;
        });
        bool const enough = to - from >= options.nodes_min;
        (enough ? counted : small).insert(from->run_id);
        std::vector<double> rates;
        for (auto at = from; at != to; ++at) rates.push_back(at->rate);
        double const usual = median(std::move(rates));
        for (; from != to; ++from) {
            if (!enough) continue;
            if (from->of_median == 0) from->of_median = from->rate / usual;
            kept.push_back(std::move(*from));
        }
    }
    report.probes = static_cast<int>(counted.size());
    for (auto const run : small) report.probes_small += !counted.contains(run);
    return kept;
}

/// Series with enough values, by path, of nodes that still exist.
std::map<std::string, Family> families(std::vector<NodeScore> const& scores,
                                       NodeDriftOptions const& options, NodeDriftReport& report) {
    std::map<std::pair<std::string, std::string>, std::vector<NodeScore const*>> own;
    std::int64_t newest_us = 0;
    for (auto const& score : scores) {
        own[{score.path, score.host}].push_back(&score);
        newest_us = std::max(newest_us, score.submitted_us.value_or(0));
    }
    std::map<std::string, Family> families;
    std::set<std::string> tested, few, gone;
    for (auto& [key, list] : own) {
        auto const& [path, host] = key;
        auto const since_us = newest_us - list.back()->submitted_us.value_or(newest_us);
        if (since_us > options.days_max * kDayUs) {
            gone.insert(host);
        } else if (static_cast<int>(list.size()) < values_needed(options.robust)) {
            few.insert(host);
        } else {
            auto const surplus = static_cast<int>(list.size()) - options.probes_max;
            if (surplus > 0) list.erase(list.begin(), list.begin() + surplus);
            Series series;
            for (auto const* score : list) series.values.push_back(score->of_median);
            series.scores = std::move(list);
            auto const& leaf = series.scores.back()->leaf;
            if (tested.insert(host).second && !leaf.empty()) ++report.leaf_nodes[leaf];
            families[path].push_back(std::move(series));
        }
    }
    auto const others = [&](std::set<std::string> const& hosts) {
        return static_cast<int>(
            std::ranges::count_if(hosts, [&](auto const& host) { return !tested.contains(host); }));
    };
    report.nodes = static_cast<int>(tested.size());
    report.nodes_few = others(few);
    report.nodes_gone = others(gone);
    return families;
}

std::vector<Segment> levels_of(Series const& series) {
    std::vector<int> cuts;
    for (auto const& point : series.robust.points) cuts.push_back(point.index);
    return segments_between(cuts, series.count());
}

std::vector<double> slice(std::vector<double> const& values, Segment const& part) {
    return {values.begin() + part.start, values.begin() + part.stop};
}

/// Levels and noise of each node; a node counts as at least as noisy as most.
void fit(Family& family, SegmentationOptions const& options) {
    std::vector<double> noises;
    for (auto& series : family) {
        series.robust = robust_change_points(series.values, options);
        noises.push_back(series.robust.noise);
    }
    double const usual = median(std::move(noises));
    for (auto& series : family) {
        series.usual_noise = usual;
        series.noise = std::max(usual, series.robust.noise);
        for (auto const& part : levels_of(series)) {
            double const level = median(slice(series.values, part));
            for (int i = part.start; i < part.stop; ++i) {
                double const value = series.values[static_cast<std::size_t>(i)];
                series.rests.push_back(std::log(value / level));
            }
        }
    }
}

/// Residuals of all series, scaled by the noise of most (scaled by their own, values of few series
/// would spread too far); corrected for having fitted the levels.
std::vector<double> pool_of(Family const& family) {
    std::vector<double> pool;
    for (auto const& series : family) {
        auto const levels = static_cast<double>(series.robust.points.size() + 1);
        double const given_back = std::sqrt(series.count() / (series.count() - levels));
        for (double const rest : series.rests)
            pool.push_back(rest / series.usual_noise * given_back);
    }
    return pool;
}

/// Autocorrelation of neighbours in time, over all nodes; clipped, and corrected for the bias of
/// fitting.
double correlation_of(Family const& family) {
    constexpr double kClip = 3;
    double squares = 0, products = 0, per_value = 0;
    for (auto const& series : family) {
        double before = 0;
        for (double const rest : series.rests) {
            double const own = std::clamp(rest / series.noise, -kClip, kClip);
            squares += own * own;
            products += own * before;
            before = own;
        }
        auto const levels = static_cast<double>(series.robust.points.size() + 1);
        per_value += levels / series.count();
    }
    double const plain = squares > 0 ? products / squares : 0;
    double const bias = (1 + 3 * plain) * per_value / static_cast<double>(family.size());
    return std::clamp(plain + bias, 0.0, kCorrelationMax);
}

/// The newest level, and the newest earlier one that was higher by at least the minimum effect.
struct Drop {
    Segment before, after;
    int since = 0;  // index
};
std::optional<Drop> drop_of(Series const& series, SegmentationOptions const& options) {
    auto const verdict =
        series_verdict(series.values, series.robust, Direction::lower_is_worse, options);
    if (series.robust.points.empty() || verdict.value == SeriesState::fixed) return std::nullopt;
    auto const levels = levels_of(series);
    double const newest = median(slice(series.values, levels.back()));
    for (std::size_t i = levels.size() - 1; i-- > 0;) {
        double const level = median(slice(series.values, levels[i]));
        if (newest <= level * (1 - options.min_effect)) {
            return Drop{levels[i], levels.back(), levels[i].stop};
        }
    }
    return std::nullopt;
}

/// The smaller one of the node's own noise and of all nodes' noise: few values give a poor
/// estimate, and with too large a noise slow probes that differ look like one level.
double gain_of(Series const& series, Drop const& drop) {
    double least = std::numeric_limits<double>::infinity();
    for (double const noise : {series.noise, series.usual_noise}) {
        auto const noises = [&](Segment const& part) {
            auto values = slice(series.values, part);
            for (double& value : values) value = std::log(value) / noise;
            return values;
        };
        least = std::min(
            least, split_gain(noises(drop.before), noises(drop.after), Direction::lower_is_worse));
    }
    return least;
}

double rate_of(Series const& series, Segment const& part) {
    std::vector<double> rates;
    for (int i = part.start; i < part.stop; ++i) {
        rates.push_back(series.scores[static_cast<std::size_t>(i)]->rate);
    }
    return median(std::move(rates));
}

NodeDrift drift_of(Series const& series, Drop const& drop) {
    auto const& first = *series.scores[static_cast<std::size_t>(drop.since)];
    auto const& newest = *series.scores.back();
    return {.host = newest.host,
            .leaf = newest.leaf,
            .path = newest.path,
            .since_run = first.run,
            .since_us = first.submitted_us,
            .before = median(slice(series.values, drop.before)),
            .after = median(slice(series.values, drop.after)),
            .rate_before = rate_of(series, drop.before),
            .rate_after = rate_of(series, drop.after),
            .probes_before = drop.before.size(),
            .probes_since = series.count() - drop.since};
}

/// Nodes of one measure that are lower than before, each with its p.
std::vector<NodeDrift> drops_in(Family const& family, NodeDriftOptions const& options, int tests) {
    SplitOptions const few{.min_segment = options.robust.min_segment,
                           .draws = kDrawsMin,
                           .direction = Direction::lower_is_worse};
    SplitOptions many = few;
    many.draws = std::clamp(kDrawsATest * tests, kDrawsMin, kDrawsMax);
    auto const pool = pool_of(family);
    SplitNull rough(pool, few), fine(pool, many);
    double const r = correlation_of(family);
    double const inflation = (1 + r) / (1 - r);
    std::vector<NodeDrift> drops;
    for (auto const& series : family) {
        auto const drop = drop_of(series, options.robust);
        if (!drop) continue;
        drops.push_back(drift_of(series, *drop));
        double const gain = gain_of(series, *drop) / inflation;
        double& p = drops.back().p;
        p = rough.p(series.count(), gain);
        if (p < kCloseLook) p = fine.p(series.count(), gain);
    }
    return drops;
}

}  // namespace

NodeDriftReport node_drift(std::vector<NodeScore> scores, NodeDriftOptions const& options) {
    NodeDriftReport report;
    auto const kept = comparable(std::move(scores), options, report);
    auto measures = families(kept, options, report);
    for (auto const& [path, family] : measures) report.series += static_cast<int>(family.size());
    std::vector<NodeDrift> drops;
    for (auto& [path, family] : measures) {
        fit(family, options.robust);
        auto own = drops_in(family, options, report.series);
        std::ranges::move(own, std::back_inserter(drops));
    }
    std::vector<double> p(static_cast<std::size_t>(report.series), 1.0);  // no drop: nothing
                                                                          // observed
    for (std::size_t i = 0; i < drops.size(); ++i) p[i] = drops[i].p;
    auto const adjusted = adjusted_p(p);
    std::ranges::sort(drops, {}, &NodeDrift::p);  // as large as their adjusted values
    auto ordered = adjusted;
    std::ranges::sort(ordered);
    for (std::size_t i = 0; i < drops.size(); ++i) {
        drops[i].adjusted_p = ordered[i];
        bool const real = ordered[i] <= options.false_discovery;
        (real ? report.drifted : report.chance).push_back(std::move(drops[i]));
    }
    for (auto* list : {&report.drifted, &report.chance}) {
        std::ranges::stable_sort(*list, {}, &NodeDrift::effect);
    }
    return report;
}

}  // namespace osora::db::analysis
