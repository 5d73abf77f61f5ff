#include "db/analysis/changepoint/split_null.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <random>
#include <ranges>

namespace osora::db::analysis::changepoint {
namespace {

constexpr double kClip2 = 9;  // 3 noises, squared

double sign_of(Direction direction) {
    return direction == Direction::higher_is_worse ? 1 : -1;
}

double cost(std::span<double const> values, double level) {
    double sum = 0;
    for (double const value : values) sum += std::min((value - level) * (value - level), kClip2);
    return sum;
}

/// medians[i] is the median of the first i + 1 values; `sorted` then holds all of them.
template <class Values>
void running_medians(Values const& values, std::vector<double>& sorted,
                     std::vector<double>& medians) {
    sorted.clear();
    medians.clear();
    for (double const value : values) {
        sorted.insert(std::ranges::upper_bound(sorted, value), value);
        auto const count = sorted.size();
        medians.push_back((sorted[(count - 1) / 2] + sorted[count / 2]) / 2);
    }
}

/// Reuses its buffers for all series.
class Scan {
public:
    explicit Scan(SplitOptions const& options) : options_(options) {}

    double largest(std::span<double const> values) {
        auto const side = static_cast<std::size_t>(options_.min_segment);
        if (values.size() < 2 * side) return 0;
        running_medians(values, sorted_, before_);
        running_medians(std::ranges::reverse_view(values), sorted_, after_);
        double const whole = cost(values, before_.back());
        double largest = 0;
        for (std::size_t at = side; at + side <= values.size(); ++at) {
            double const before = before_[at - 1], after = after_[values.size() - at - 1];
            if (sign_of(options_.direction) * (after - before) <= 0) continue;
            double const split = cost(values.first(at), before) + cost(values.subspan(at), after);
            largest = std::max(largest, whole - split);
        }
        return largest;
    }

private:
    SplitOptions const& options_;
    std::vector<double> sorted_, before_, after_;
};

}  // namespace

double split_gain(std::span<double const> before, std::span<double const> after,
                  Direction direction) {
    std::vector<double> all(before.begin(), before.end());
    all.insert(all.end(), after.begin(), after.end());
    auto const middle = [](std::span<double const> values) {
        std::vector<double> sorted, medians;
        running_medians(values, sorted, medians);
        return medians.empty() ? 0 : medians.back();
    };
    double const left = middle(before), right = middle(after);
    if (sign_of(direction) * (right - left) <= 0) return 0;
    return std::max(0.0, cost(all, middle(all)) - cost(before, left) - cost(after, right));
}

double largest_gain(std::span<double const> values, SplitOptions const& options) {
    return Scan(options).largest(values);
}

double permutation_p(std::span<double const> values, SplitOptions const& options) {
    std::mt19937_64 random(options.seed);
    std::vector<double> shuffled(values.begin(), values.end());
    Scan scan(options);
    double const seen = scan.largest(values);
    int as_large = 1;  // the observed order counts as one
    for (int i = 0; i < options.draws; ++i) {
        std::ranges::shuffle(shuffled, random);
        as_large += scan.largest(shuffled) >= seen;
    }
    return static_cast<double>(as_large) / (options.draws + 1);
}

SplitNull::SplitNull(std::vector<double> pool, SplitOptions const& options)
    : pool_(std::move(pool)), options_(options) {
    OSORA_CHECK(!pool_.empty());
}

std::vector<double> const& SplitNull::largest(int count) {
    auto const [at, made] = largest_.try_emplace(count);
    if (!made) return at->second;
    std::mt19937_64 random(options_.seed);
    std::uniform_int_distribution<std::size_t> any(0, pool_.size() - 1);
    Scan scan(options_);
    std::vector<double> series(static_cast<std::size_t>(count));
    for (int i = 0; i < options_.draws; ++i) {
        for (double& value : series) value = pool_[any(random)];
        at->second.push_back(scan.largest(series));
    }
    std::ranges::sort(at->second);
    return at->second;
}

double SplitNull::p(int count, double gain) {
    auto const& drawn = largest(count);
    auto const as_large = drawn.end() - std::ranges::lower_bound(drawn, gain);
    return static_cast<double>(as_large + 1) / static_cast<double>(drawn.size() + 1);
}

}  // namespace osora::db::analysis::changepoint
