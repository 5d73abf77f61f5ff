#include "db/analysis/bisect/noise.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace osora::db::analysis {
namespace {

constexpr double kOddSigmas = 4;
// Median of |x - y| of two Gaussian samples, in sigma.
constexpr double kMedianDifference = 0.9539;
// Standard error of the median relative to that of the mean.
constexpr double kMedianError = 1.2;
constexpr double kPriorBetween = 0.06;

/// Logarithm of Student's t density with 4 degrees of freedom, without its constant.
double log_likelihood(double residual_s, double scale_s) {
    double const z = residual_s / scale_s;
    return -2.5 * std::log1p(z * z / 4) - std::log(scale_s);
}

double log_sum(std::span<double const> logs) {
    double const largest = *std::ranges::max_element(logs);
    double sum = 0;
    for (double const each : logs) sum += std::exp(each - largest);
    return largest + std::log(sum);
}

/// Likelihood of a level somewhere inside the gap, uniformly distributed.
double log_likelihood_between(std::span<double const> samples, Level const& low, Level const& high,
                              double sigma_s) {
    std::array<double, 17> places{};
    double const gap = high.value_s - low.value_s;
    for (std::size_t i = 0; i < places.size(); ++i) {
        double const share = kPartOfGap + (1 - 2 * kPartOfGap) * static_cast<double>(i) /
                                              static_cast<double>(places.size() - 1);
        double const level = low.value_s + share * gap;
        for (double const each : samples) places[i] += log_likelihood(each - level, sigma_s);
    }
    return log_sum(places) - std::log(static_cast<double>(places.size()));
}

}  // namespace

Noise noise_of(std::span<std::vector<double> const> groups, BisectOptions const& options,
               double level_s) {
    std::vector<double> differences;
    double freedom = 0;
    for (auto const& group : groups) {
        for (std::size_t i = 0; i < group.size(); ++i) {
            for (std::size_t k = 0; k < i; ++k) {
                differences.push_back(std::abs(group[i] - group[k]));
            }
        }
        freedom += static_cast<double>(group.size()) - 1;
    }
    Noise noise{0, freedom};
    if (!differences.empty()) noise.sigma_s = median(std::move(differences)) / kMedianDifference;
    if (std::isfinite(options.sigma_s)) {
        double const known = options.sigma_runs - 1;
        // A history that is far more repeatable than these trials is of another kind of run.
        bool const is_alike = freedom < 6 || noise.sigma_s < 2 * options.sigma_s;
        if (is_alike) {
            double const sum =
                known * options.sigma_s * options.sigma_s + freedom * noise.sigma_s * noise.sigma_s;
            noise = {std::sqrt(sum / (known + freedom)), known + freedom};
        }
    } else if (freedom > 0) {
        noise.sigma_s *= 1 + 1 / freedom;  // a few runs are often more repeatable by chance
    }
    noise.sigma_s = std::max(noise.sigma_s, options.sigma_floor * level_s);
    return noise;
}

Level level_of(std::span<double const> samples, Noise const& noise) {
    double const error = noise.sigma_s / std::sqrt(static_cast<double>(samples.size()));
    return {median({samples.begin(), samples.end()}),
            samples.size() > 2 ? kMedianError * error : error};
}

LevelPosterior level_posterior(std::span<double const> samples, Level const& low, Level const& high,
                               double sigma_s) {
    std::vector<double> clamped(samples.begin(), samples.end());
    auto const [least, most] = std::minmax(low.value_s, high.value_s);
    for (double& each : clamped) each = std::clamp(each, least, most);
    std::array<double, 3> logs{std::log((1 - kPriorBetween) / 2), std::log(kPriorBetween),
                               std::log((1 - kPriorBetween) / 2)};
    for (double const each : clamped) {
        logs[0] += log_likelihood(each - low.value_s, std::hypot(sigma_s, low.error_s));
        logs[2] += log_likelihood(each - high.value_s, std::hypot(sigma_s, high.error_s));
    }
    logs[1] += log_likelihood_between(clamped, low, high, sigma_s);
    double const total = log_sum(logs);
    return {std::exp(logs[0] - total), std::exp(logs[1] - total), std::exp(logs[2] - total)};
}

bool is_odd(double sample, Level const& low, Level const& high, double sigma_s) {
    auto const far = [&](Level const& level) {
        return std::abs(sample - level.value_s) > kOddSigmas * std::hypot(sigma_s, level.error_s);
    };
    return far(low) && far(high);
}

bool is_steady(std::span<double const> samples, double sigma_s) {
    double const limit = kOddSigmas * sigma_s;
    if (samples.size() < 2) return true;
    if (samples.size() == 2) return std::abs(samples[0] - samples[1]) < limit;
    double const middle = median({samples.begin(), samples.end()});
    auto const near = std::ranges::count_if(
        samples, [&](double each) { return std::abs(each - middle) < limit; });
    return 2 * near >= std::ssize(samples) + 2;
}

double resolution_s(double gap_s, double sigma_s, int trials) {
    return std::max(kPartOfGap * gap_s, 2.5 * sigma_s * std::sqrt(2.0 / trials));
}

}  // namespace osora::db::analysis
