// A step counts if the run continued from it: after a relaunch, steps after the checkpoint belong
// to an abandoned attempt.
#include "db/analysis/measure.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace osora::db::analysis {
namespace {

double sum_of(std::vector<double> const& values) {
    double sum = 0;
    for (double const value : values) {
        if (!std::isnan(value)) sum += value;
    }
    return sum;
}

/// Batches of a bucket above which its samples differ by themselves from step to step.
constexpr std::size_t kBatchesMax = 16;

void measure_buckets(StepTable const& steps, std::vector<std::size_t> const& used, Measured& into) {
    auto const* times = steps.column("step_time_s");
    if (times == nullptr) return;
    double seconds = 0, samples = 0;
    for (std::size_t bucket = 0; bucket < steps.buckets.size(); ++bucket) {
        std::vector<std::size_t> indices;
        for (auto const i : used) {
            if (steps.bucket[i] == static_cast<int>(bucket)) indices.push_back(i);
        }
        BucketMeasure each{.bucket = steps.buckets[bucket],
                           .steps = static_cast<int>(indices.size())};
        if (!indices.empty()) {
            double total = 0;
            for (auto const i : indices) total += steps.samples[i];
            each.samples_per_step = total / each.steps;
            auto const spread = median_and_mad(pick(times->mean, indices));
            each.step_s_median = spread.median;
            each.step_s_mad = spread.mad;
            seconds += seconds_at_medians(steps, indices);
            samples += total;
        }
        into.buckets.push_back(std::move(each));
    }
    if (used.empty()) return;
    into.step_s_mix = seconds / static_cast<double>(used.size());
    if (samples > 0) into.samples_per_s = samples / seconds;  // a user program may not count them
}

void measure_shares(StepTable const& steps, std::vector<std::size_t> const& used, Measured& into) {
    auto const* times = steps.column("step_time_s");
    if (times == nullptr || used.empty()) return;
    auto const spread = median_and_mad(pick(times->mean, used));
    into.step_s_median = spread.median;
    into.step_s_mad = spread.mad;
    double const total = sum_of(pick(times->mean, used));
    if (auto const* data = steps.column("data_wait_s")) {
        into.data_share = sum_of(pick(data->mean, used)) / total;
    }
    if (auto const* comm = steps.column("exposed_comm_s")) {
        double const least = sum_of(pick(comm->min, used));
        into.comm_share = least / total;
        into.wait_share = (sum_of(pick(comm->mean, used)) - least) / total;
    }
}

void measure_loss(StepTable const& steps, std::vector<std::size_t> const& kept, Measured& into) {
    auto const* loss = steps.column("loss");
    if (loss == nullptr) return;
    auto const values = pick(loss->mean, kept);
    auto const window = std::min<std::size_t>(kLossSteps, values.size() / 2);
    if (window == 0) return;
    auto const mean_of = [&](auto first) {
        double sum = 0;  // a NaN step makes the mean NaN, as it should
        for (std::size_t i = 0; i < window; ++i, ++first) sum += *first;
        return sum / static_cast<double>(window);
    };
    into.loss_window = static_cast<int>(window);
    into.loss_first = mean_of(values.begin());
    into.loss_last = mean_of(values.end() - static_cast<std::ptrdiff_t>(window));
}

std::int64_t highest(StepTable const& steps, char const* name) {
    auto const* column = steps.column(name);
    double value = 0;
    if (column != nullptr) {
        for (double const each : column->max) value = std::fmax(value, each);
    }
    return static_cast<std::int64_t>(value);
}

}  // namespace

std::vector<double> pick(std::vector<double> const& column,
                         std::vector<std::size_t> const& indices) {
    std::vector<double> values;
    if (column.empty()) return values;
    values.reserve(indices.size());
    for (auto const i : indices) values.push_back(column[i]);
    return values;
}

double seconds_at_medians(StepTable const& steps, std::vector<std::size_t> const& indices) {
    auto const* times = steps.column("step_time_s");
    if (times == nullptr) return kUnknown;
    std::map<int, std::vector<std::size_t>> batches;
    for (auto const i : indices) batches[steps.samples[i]].push_back(i);
    if (batches.size() > kBatchesMax) batches = {{0, indices}};
    double sum = 0;
    for (auto const& [samples, own] : batches) {
        sum += static_cast<double>(own.size()) * median(pick(times->mean, own));
    }
    return sum;
}

StepSelection select_steps(StepTable const& steps) {
    StepSelection selection;
    std::map<int, int> ranks_of_attempt, steps_of_attempt, seen;
    int attempt = -1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (steps.attempt[i] < attempt) {
            ++selection.undone;
            continue;
        }
        attempt = steps.attempt[i];
        ranks_of_attempt[attempt] = std::max(ranks_of_attempt[attempt], steps.ranks[i]);
        ++steps_of_attempt[attempt];
        selection.kept.push_back(i);
    }
    for (auto const i : selection.kept) {
        int const count = steps_of_attempt[steps.attempt[i]];
        int const warmup = std::min({kWarmupSteps, (count + 4) / 5, count - 1});
        bool const complete = steps.ranks[i] == ranks_of_attempt[steps.attempt[i]];
        if (!complete) ++selection.incomplete;
        if (seen[steps.attempt[i]]++ < warmup) {
            selection.cold.push_back(i);
            ++selection.warmup;
        } else if (complete) {
            selection.used.push_back(i);
        }
    }
    return selection;
}

Measured measure(StepTable const& steps) {
    auto const selection = select_steps(steps);
    Measured result;
    result.steps = static_cast<int>(selection.kept.size());
    if (!selection.kept.empty()) result.next_step = steps.step[selection.kept.back()] + 1;
    result.warmup_steps = selection.warmup;
    result.steps_used = static_cast<int>(selection.used.size());
    result.steps_incomplete = selection.incomplete;
    result.steps_undone = selection.undone;
    result.steps_repeated = std::accumulate(steps.repeated.begin(), steps.repeated.end(), 0);
    measure_buckets(steps, selection.used, result);
    measure_shares(steps, selection.used, result);
    measure_loss(steps, selection.kept, result);
    result.rss_bytes = highest(steps, "rss_bytes");
    result.peak_allocated_bytes = highest(steps, "peak_allocated_bytes");
    return result;
}

}  // namespace osora::db::analysis
