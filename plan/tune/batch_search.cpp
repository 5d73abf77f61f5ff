#include "plan/tune/batch_search.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace osora::plan {
namespace {

/// Standard deviations of the natural logarithm of measured over expected samples a second.
constexpr double kErrorOfAll = 0.3;        // of all points alike
constexpr double kErrorOfLayout = 0.12;    // of a layout
constexpr double kErrorOfLevel = 0.12;     // of a level of recomputing
constexpr double kErrorOfPair = 0.08;      // of a layout with a level
constexpr double kErrorOfDoubling = 0.05;  // of twice the micro-batch
constexpr double kErrorOfPoint = 0.03;     // of one point
constexpr double kErrorOfTrial = 0.015;    // between trials of one point

/// The search ends when the best point is expected to gain less.
constexpr double kLeastGain = 0.003;
/// Part of a rank's memory that stays free.
constexpr double kMemoryMargin = 0.03;

double squared(double x) {
    return x * x;
}

double prior(BatchPoint const& a, BatchPoint const& b) {
    double sum = squared(kErrorOfAll);
    bool const layout = a.layout == b.layout, level = a.recompute == b.recompute;
    if (layout) sum += squared(kErrorOfLayout);
    if (level) sum += squared(kErrorOfLevel);
    if (layout && level) sum += squared(kErrorOfPair);
    sum += squared(kErrorOfDoubling) * std::log2(a.micro_batch) * std::log2(b.micro_batch);
    if (a == b) sum += squared(kErrorOfPoint);
    return sum;
}

/// Expected gain over `best` of a rate whose logarithm is normal (J. Mockus, 1978).
double expected_gain(double log_rate, double deviation, double best) {
    double const z = (log_rate - best) / deviation;
    double const density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    double const share = std::erfc(-z / std::numbers::sqrt2) / 2;
    return deviation * (z * share + density);
}

}  // namespace

BatchSearch::BatchSearch(BatchSpace const& space, int trials_max)
    : planned_(space.planned), memory_gib_(space.memory_gib), trials_max_(trials_max) {
    std::vector<BatchPoint> points{space.planned};
    for (int layout = 0; layout < space.layouts; ++layout) {
        for (int level = 0; level < space.recompute_levels; ++level) {
            for (int const micro : space.micro_batches) {
                BatchPoint const point{layout, level, micro};
                if (point != space.planned) points.push_back(point);
            }
        }
    }
    for (auto const& point : points) {
        auto const expected = space.forecast(point);
        if (!expected || !(expected->samples_per_s > 0)) continue;
        candidates_.push_back({point, *expected, false, std::log(expected->samples_per_s)});
    }
    covariance_.resize(candidates_.size() * candidates_.size());
    for (std::size_t a = 0; a < candidates_.size(); ++a) {
        for (std::size_t b = 0; b < candidates_.size(); ++b) {
            covariance(a, b) = prior(candidates_[a].point, candidates_[b].point);
        }
    }
}

bool BatchSearch::fits(Candidate const& candidate) const {
    double const peak = candidate.expected.peak_memory_gib;
    if (peak * memory_ratio_ > memory_gib_ * (1 - kMemoryMargin)) return false;
    return std::ranges::none_of(trials_, [&](BatchTrial const& each) {
        return !each.failure.empty() && each.point.layout == candidate.point.layout &&
               peak >= each.expected.peak_memory_gib;
    });
}

std::optional<std::size_t> BatchSearch::index_of(BatchPoint const& point) const {
    auto const found = std::ranges::find(candidates_, point, &Candidate::point);
    if (found == candidates_.end()) return {};
    return static_cast<std::size_t>(found - candidates_.begin());
}

std::optional<std::size_t> BatchSearch::chosen() {
    if (candidates_.empty()) return {};
    auto const least = std::ranges::min_element(
        candidates_, {}, [](Candidate const& each) { return each.expected.peak_memory_gib; });
    if (trials_.empty()) return static_cast<std::size_t>(least - candidates_.begin());
    auto const planned = index_of(planned_);
    if (planned && !candidates_[*planned].is_tried && fits(candidates_[*planned])) return planned;
    auto const* const now = best();
    if (now == nullptr) return {};
    std::optional<std::size_t> found;
    double most = kLeastGain;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        auto const& each = candidates_[i];
        if (each.is_tried || !fits(each)) continue;
        double const gain = expected_gain(each.log_rate, std::sqrt(covariance(i, i)),
                                          std::log(now->measured.samples_per_s));
        if (gain <= most) continue;
        found = i;
        most = gain;
    }
    return found;
}

std::optional<BatchPoint> BatchSearch::next() {
    measuring_.reset();
    if (static_cast<int>(trials_.size()) < trials_max_) measuring_ = chosen();
    if (!measuring_) return {};
    return candidates_[*measuring_].point;
}

/// Conditions the errors of all candidates, jointly normal, on one measurement.
void BatchSearch::correct(std::size_t measured, double log_rate) {
    std::size_t const count = candidates_.size();
    std::vector<double> shared(count);
    for (std::size_t i = 0; i < count; ++i) shared[i] = covariance(i, measured);
    double const variance = shared[measured] + squared(kErrorOfTrial);
    double const error = log_rate - candidates_[measured].log_rate;
    for (std::size_t a = 0; a < count; ++a) {
        candidates_[a].log_rate += shared[a] * error / variance;
        for (std::size_t b = 0; b < count; ++b)
            covariance(a, b) -= shared[a] * shared[b] / variance;
    }
}

void BatchSearch::add(BatchForecast const& measured) {
    if (!measuring_) return;
    auto const index = *std::exchange(measuring_, std::nullopt);
    auto& candidate = candidates_[index];
    candidate.is_tried = true;
    trials_.push_back({candidate.point, candidate.expected, measured, {}});
    double const ratio = measured.peak_memory_gib / candidate.expected.peak_memory_gib;
    if (std::isfinite(ratio)) memory_ratio_ = std::max(memory_ratio_, ratio);
    correct(index, std::log(measured.samples_per_s));
}

void BatchSearch::add_failure(std::string why) {
    if (!measuring_) return;
    auto& candidate = candidates_[*std::exchange(measuring_, std::nullopt)];
    candidate.is_tried = true;
    trials_.push_back({candidate.point, candidate.expected, {}, std::move(why)});
}

BatchTrial const* BatchSearch::best() const {
    BatchTrial const* found = nullptr;
    for (auto const& each : trials_) {
        if (!each.failure.empty()) continue;
        bool const faster =
            found == nullptr || each.measured.samples_per_s > found->measured.samples_per_s;
        if (faster) found = &each;
    }
    return found;
}

BatchTrial const* BatchSearch::planned() const {
    auto const found = std::ranges::find(trials_, planned_, &BatchTrial::point);
    return found == trials_.end() || !found->failure.empty() ? nullptr : &*found;
}

}  // namespace osora::plan
