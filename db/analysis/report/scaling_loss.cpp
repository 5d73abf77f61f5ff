#include "db/analysis/report/scaling_loss.hpp"

#include "base/robust.hpp"
#include "base/text/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::db::analysis {
namespace {

/// Of a step; NaN: not known, as of a user program that reports step times only.
struct StepShares {
    double comm = kUnknown, wait = kUnknown, data = kUnknown;
    [[nodiscard]] double compute() const { return 1 - comm - wait - data; }
};

/// One rank waits for no other.
StepShares shares_of(ScalingRow const& row) {
    auto const of_peers = [&](double share) {
        return row.ranks < 2 && std::isnan(share) ? 0 : share;
    };
    return {of_peers(row.comm_share), of_peers(row.wait_share), row.data_share};
}

}  // namespace

BucketTimes bucket_times(std::vector<SeriesRun const*> const& runs) {
    std::map<std::string, std::vector<BucketMeasure>> by_bucket;
    for (auto const* run : runs) {
        double const factor = batch_factor(*run->summary.measured);
        for (auto bucket : run->summary.measured->buckets) {
            bucket.step_s_median *= factor;  // its samples are the mean over its batches
            if (bucket.steps > 0) by_bucket[bucket.bucket].push_back(std::move(bucket));
        }
    }
    BucketTimes times;
    for (auto const& [name, measures] : by_bucket) {
        std::vector<double> samples, seconds;
        auto& time = times[name];
        for (auto const& each : measures) {
            time.steps += each.steps;
            samples.push_back(each.samples_per_step);
            seconds.push_back(each.step_s_median);
        }
        time.samples_per_step = median(std::move(samples));
        time.step_s = median(std::move(seconds));
    }
    return times;
}

double efficiency(BucketTimes const& base, int base_ranks, BucketTimes const& other,
                  int other_ranks) {
    double base_samples = 0, base_s = 0, other_samples = 0, other_s = 0;
    for (auto const& [name, time] : base) {
        auto const same = other.find(name);
        if (same == other.end()) continue;
        base_samples += time.steps * time.samples_per_step;
        base_s += time.steps * time.step_s;
        other_samples += time.steps * same->second.samples_per_step;
        other_s += time.steps * same->second.step_s;
    }
    if (base_s <= 0 || other_s <= 0) return kUnknown;
    return (other_samples / other_s / other_ranks) / (base_samples / base_s / base_ranks);
}

std::string largest_loss(ScalingRow const& base, ScalingRow const& row) {
    auto const samples_of_a_rank = [](ScalingRow const& each) {
        return each.samples_per_s * each.step_s / each.ranks;
    };
    // What the base's step would take with the samples of a rank of this row.
    double const scale = samples_of_a_rank(row) / samples_of_a_rank(base);
    auto const at_base = shares_of(base), here = shares_of(row);
    auto const lost = [&](double share, double base_share) {
        return row.step_s * share - scale * base.step_s * base_share;
    };
    struct Part {
        double seconds;
        std::string text;
    };
    std::array<Part, 4> const parts{
        Part{lost(here.comm, at_base.comm), "is exposed communication"},
        Part{lost(here.wait, at_base.wait), "is waiting for a slower rank"},
        Part{lost(here.data, at_base.data), "is waiting for data"},
        Part{lost(here.compute(), at_base.compute()),
             row.shares_cores ? "is slower computing: ranks share cores" : "is slower computing"}};
    Part const* largest = nullptr;
    for (auto const& part : parts) {  // NaN is larger than nothing
        if (part.seconds > (largest == nullptr ? 0 : largest->seconds)) largest = &part;
    }
    if (largest == nullptr) return {};
    // A part that is not known may be larger than what is less than half.
    bool const whole =
        std::ranges::none_of(parts, [](auto& each) { return std::isnan(each.seconds); });
    if (!whole && largest->seconds < (row.step_s - scale * base.step_s) / 2) return {};
    return fmt::format("{} of the {} {}", format_seconds(largest->seconds),
                       format_seconds(row.step_s), largest->text);
}

}  // namespace osora::db::analysis
