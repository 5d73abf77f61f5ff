// The same code computes the figures and, on blocks drawn with replacement, their spread.
#include "db/analysis/attribution/waterfall.hpp"

#include "db/analysis/attribution/bucket_sums.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

namespace osora::db::analysis {
namespace {

constexpr int kDraws = 400;
constexpr double kTail = 0.025;
constexpr double kShared = 0.5;  // steps on both sides that a bucket needs to be compared
                                 // separately
constexpr double kSameSamples = 1e-9;

struct RowName {
    char const* key;
    char const* name;
};
constexpr std::array<RowName, kParts> kRowNames{{{"compute", "compute"},
                                                 {"bucket_imbalance", "bucket imbalance"},
                                                 {"slower_rank", "wait for a slower rank"},
                                                 {"wait_data", "wait for a rank's data"},
                                                 {"wait_network", "wait, uneven network"},
                                                 {"exposed_comm", "exposed communication"},
                                                 {"loader", "data wait"},
                                                 {"host", "checkpoint, log, host"},
                                                 {"residual", "not explained"}}};

/// Seconds of a mean step, and the parts of the gap.
struct Gaps {
    double a_s = 0, b_s = 0, work_s = 0, mix_s = 0;
    std::array<double, kParts> part_a_s{}, part_b_s{}, part_gap_s{};
};

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

PartSums everything(BucketSums const& sums) {
    PartSums total;
    for (auto const& each : sums) total.add(each);
    return total;
}

/// Adds one bucket's rows, weighted by A's share `weight` of it.
void add_bucket(PartSums const& a, PartSums const& b, double weight, Gaps& into) {
    double const samples_a = ratio(a.samples_per_rank, a.steps);
    double const samples_b = ratio(b.samples_per_rank, b.steps);
    bool const known = samples_a > 0 && samples_b > 0;
    bool const other = known && std::abs(samples_b / samples_a - 1) > kSameSamples;
    double const work_s = other ? ratio(a.work_s, a.steps) * (samples_b / samples_a - 1) : 0;
    into.work_s += weight * work_s;
    for (std::size_t i = 0; i < kParts; ++i) {
        double const part_a = ratio(a.s[i], a.steps) + (i == 0 ? work_s : 0);
        double const part_b = ratio(b.s[i], b.steps);
        into.part_a_s[i] += weight * part_a;
        into.part_b_s[i] += weight * part_b;
        into.part_gap_s[i] += weight * (part_b - part_a);
    }
}

bool is_shared(BucketSums const& a, BucketSums const& b, std::size_t bucket) {
    return bucket < a.size() && bucket < b.size() && a[bucket].steps > 0 && b[bucket].steps > 0;
}

bool share_buckets(BucketSums const& a, BucketSums const& b) {
    double shared_a = 0, shared_b = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!is_shared(a, b, i)) continue;
        shared_a += a[i].steps;
        shared_b += b[i].steps;
    }
    return shared_a >= kShared * everything(a).steps && shared_b >= kShared * everything(b).steps;
}

Gaps gaps_of(BucketSums const& a, BucketSums const& b, bool standardised) {
    auto const all_a = everything(a), all_b = everything(b);
    Gaps gaps;
    gaps.a_s = ratio(all_a.step_s, all_a.steps);
    gaps.b_s = ratio(all_b.step_s, all_b.steps);
    double shared = 0;
    for (std::size_t i = 0; i < a.size(); ++i) shared += is_shared(a, b, i) ? a[i].steps : 0;
    if (!standardised || shared == 0) {
        add_bucket(all_a, all_b, 1, gaps);
    } else {
        for (std::size_t i = 0; i < a.size(); ++i) {
            if (is_shared(a, b, i)) add_bucket(a[i], b[i], a[i].steps / shared, gaps);
        }
    }
    gaps.mix_s = gaps.b_s - gaps.a_s - gaps.work_s;
    for (double const gap : gaps.part_gap_s) gaps.mix_s -= gap;
    return gaps;
}

/// The sums of as many units as there are, drawn with replacement.
BucketSums drawn(std::vector<BucketSums> const& units, std::mt19937_64& random) {
    BucketSums total;
    for (std::size_t i = 0; i < units.size(); ++i) {
        // Not a distribution of <random>: those give different values with each standard library.
        add_to(total, units[random() % units.size()]);
    }
    return total;
}

Interval interval_of(std::vector<double> values) {
    std::ranges::sort(values);
    auto const at = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
    };
    return {at(kTail), at(1 - kTail)};
}

std::vector<Gaps> bootstrap(std::vector<BucketSums> const& a, std::vector<BucketSums> const& b,
                            bool standardised, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Gaps> draws;
    for (int i = 0; i < kDraws; ++i) {
        auto const side_a = drawn(a, random);
        draws.push_back(gaps_of(side_a, drawn(b, random), standardised));
    }
    return draws;
}

template <class Figure>
Interval interval_over(std::vector<Gaps> const& draws, Figure figure) {
    std::vector<double> values;
    for (auto const& each : draws) values.push_back(figure(each));
    return interval_of(std::move(values));
}

std::vector<WaterfallRow> rows_of(Gaps const& gaps, std::vector<Gaps> const& draws, double gap_s) {
    std::vector<WaterfallRow> rows;
    auto const add = [&](RowName const& name, auto figure) -> WaterfallRow& {
        WaterfallRow row;
        row.key = name.key;
        row.name = name.name;
        row.gap_s = figure(gaps);
        row.interval = interval_over(draws, figure);
        row.of_gap = gap_s == 0 ? kUnknown : row.gap_s / gap_s;
        rows.push_back(std::move(row));
        return rows.back();
    };
    if (gaps.work_s != 0) {
        add({"work", "samples of a rank"}, [](Gaps const& each) { return each.work_s; }).of_gap =
            kUnknown;
    }
    for (std::size_t i = 0; i < kParts; ++i) {
        auto& row = add(kRowNames[i], [i](Gaps const& each) { return each.part_gap_s[i]; });
        row.a_s = gaps.part_a_s[i];
        row.b_s = gaps.part_b_s[i];
        if (i == 0) add({"bucket_mix", "bucket mix"}, [](Gaps const& each) { return each.mix_s; });
    }
    return rows;
}

}  // namespace

Waterfall waterfall(Side const& a, Side const& b, std::uint64_t seed) {
    BucketNumbers numbers;
    auto const side_a = sums_of(a, numbers), side_b = sums_of(b, numbers);
    Waterfall found;
    found.steps_a = side_a.steps;
    found.steps_b = side_b.steps;
    found.residual_share_a = side_a.residual_share;
    found.residual_share_b = side_b.residual_share;
    if (!found.enough()) return found;
    auto const total_a = total_of(side_a.runs), total_b = total_of(side_b.runs);
    found.standardised = share_buckets(total_a, total_b);
    auto const gaps = gaps_of(total_a, total_b, found.standardised);
    bool const runs =
        side_a.runs.size() >= kRunsForIntervals && side_b.runs.size() >= kRunsForIntervals;
    found.intervals = runs ? IntervalKind::over_runs : IntervalKind::within_run;
    auto const draws = runs ? bootstrap(side_a.runs, side_b.runs, found.standardised, seed)
                            : bootstrap(side_a.blocks, side_b.blocks, found.standardised, seed);
    auto const gap = [](Gaps const& each) { return each.b_s - each.a_s - each.work_s; };
    found.a_s = gaps.a_s;
    found.b_s = gaps.b_s;
    found.work_s = gaps.work_s;
    found.gap_s = gap(gaps);
    found.interval = interval_over(draws, gap);
    found.rows = rows_of(gaps, draws, found.gap_s);
    return found;
}

}  // namespace osora::db::analysis
