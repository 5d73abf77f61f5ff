// Halves and doubles the planned batch.
#include "plan/layout/batch_curve.hpp"

#include <algorithm>
#include <optional>

namespace osora::plan {
namespace {

constexpr int kPointsEachWay = 4;

/// Nullopt if a bucket does not fit.
std::optional<ExpectedBatch> point_of(PlanContext const& context,
                                      std::vector<std::int64_t> const& globals,
                                      Candidate const& best) {
    auto const limit = rank_limit_bytes(context, globals);
    auto const shares = step_shares(context, globals);
    ExpectedBatch point{.global_batch_size = globals.front()};
    std::vector<StepTime> times;
    double exposed_s = 0, samples = 0;
    for (std::size_t i = 0; i < globals.size(); ++i) {
        StepQuery query = step_query(context, i, best.threads);
        query.grad_bucket_mib = best.grad_bucket_mib;
        auto const chosen =
            choose_micro_batch(context, i, query, globals[i] / context.dp_size(), limit);
        if (chosen.has_error()) return std::nullopt;
        times.push_back(chosen->time);
        point.step_time_s += shares[i] * chosen->time.total_s();
        exposed_s += shares[i] * chosen->time.exposed_comm_s;
        samples += shares[i] * static_cast<double>(globals[i]);
    }
    RankBalance const balance = rank_balance(context, shares, times);
    point.step_time_s += balance.longest_s - balance.mean_s;
    point.exposed_comm_share = exposed_s / point.step_time_s;
    point.samples_per_s = samples / point.step_time_s;
    return point;
}

/// Smaller and larger ones, ascending.
std::vector<std::int64_t> other_batches(PlanContext const& context, std::int64_t planned) {
    auto const& batch = context.config.batch;
    int const micro = context.config.bucket.front().micro_batch_size.value_or(1);
    std::int64_t const unit = std::int64_t{context.dp_size()} * micro;
    std::vector<std::int64_t> sizes;
    std::int64_t smaller = planned;
    for (int i = 0; i < kPointsEachWay && smaller % (2 * unit) == 0; ++i) {
        smaller /= 2;
        if (smaller >= batch.min) sizes.insert(sizes.begin(), smaller);
    }
    std::int64_t larger = planned;
    for (int i = 0; i < kPointsEachWay && larger <= batch.max / 2; ++i) {
        larger *= 2;
        sizes.push_back(larger);
    }
    return sizes;
}

}  // namespace

std::vector<ExpectedBatch> batch_curve(PlanContext const& context, GlobalBatches const& batches,
                                       Candidate const& best) {
    std::vector<ExpectedBatch> curve;
    std::int64_t const planned = batches.sizes.front();
    if (auto point = point_of(context, batches.sizes, best)) curve.push_back(*point);
    for (std::int64_t const size : other_batches(context, planned)) {
        auto const point = point_of(context, equal_cost_globals(context, size), best);
        if (point) curve.push_back(*point);
    }
    std::ranges::sort(curve, {}, &ExpectedBatch::global_batch_size);
    return curve;
}

}  // namespace osora::plan
