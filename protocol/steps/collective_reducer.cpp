// The limits keep sums of sums well inside the ranges of their types.
#include "protocol/steps/collective_reducer.hpp"

#include "protocol/steps/collectives.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::protocol {
namespace {

constexpr std::size_t kNameMax = 100;
constexpr std::int64_t kCountMax = std::int64_t{1} << 40;
constexpr std::int64_t kBytesMax = std::int64_t{1} << 58;
constexpr double kSecondsMax = 1e12;

bool is_count(std::int64_t count, std::int64_t max) {
    return count >= 0 && count <= max;
}

bool is_time(double seconds) {
    return seconds >= 0 && seconds <= kSecondsMax;  // false for NaN
}

}  // namespace

bool is_sane(CollectiveCost const& cost) {
    bool const named = !cost.name.empty() && cost.name.size() <= kNameMax &&
                       cost.collective.size() <= kNameMax && cost.backend.size() <= kNameMax;
    return named && cost.ranks > 0 && is_count(cost.calls, kCountMax) &&
           is_count(cost.bytes, kBytesMax) && is_time(cost.seconds) && is_time(cost.exposed_s);
}

bool is_sane(CollectiveSums const& sums) {
    return sums.attempt >= 0 && sums.number >= 0 &&
           sums.sums.size() <= CollectiveReducer::kSumsMax &&
           std::ranges::all_of(sums.sums, [](CollectiveSum const& each) {
               return each.bucket.size() <= 10 * kNameMax && each.rank_steps > 0 &&
                      each.rank_steps <= kCountMax && is_sane(each.cost);
           });
}

CollectiveReducer::CollectiveReducer(int attempt, int node, int first_rank, int ranks)
    : attempt_(attempt),
      node_(node),
      first_rank_(first_rank),
      seen_(static_cast<std::size_t>(ranks)) {}

void CollectiveReducer::add(int rank, StepMetrics const& metrics) {
    int const local_rank = rank - first_rank_;
    if (local_rank < 0 || local_rank >= static_cast<int>(seen_.size())) return;
    Seen& seen = seen_[static_cast<std::size_t>(local_rank)];
    if (metrics.step <= seen.last_step) return;
    seen.last_step = metrics.step;
    bool const warmup = seen.steps++ < kWarmupSteps;
    for (CollectiveCost const& cost : metrics.collectives) {
        if (!is_sane(cost)) continue;
        Key const key{warmup, cost.name, cost.collective, cost.backend, cost.ranks, metrics.bucket};
        auto found = sums_.find(key);
        if (found == sums_.end()) {
            if (sums_.size() == kSumsMax) continue;
            CollectiveSum fresh{.bucket = metrics.bucket, .warmup = warmup, .cost = cost};
            fresh.rank_steps = 1;
            sums_.emplace(key, std::move(fresh));
            continue;
        }
        CollectiveSum& sum = found->second;
        ++sum.rank_steps;
        sum.cost.calls += cost.calls;
        sum.cost.bytes += cost.bytes;
        sum.cost.seconds += cost.seconds;
        sum.cost.exposed_s += cost.exposed_s;
    }
}

std::optional<CollectiveSums> CollectiveReducer::take() {
    if (sums_.empty()) return std::nullopt;
    CollectiveSums report{.attempt = attempt_, .node = node_, .number = number_++, .sums = {}};
    for (auto& [key, sum] : std::exchange(sums_, {})) report.sums.push_back(std::move(sum));
    return report;
}

}  // namespace osora::protocol
