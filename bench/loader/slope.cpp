// Theil-Sen estimator and its interval.
#include "bench/loader/slope.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace osora::bench {

Slope theil_sen(std::span<double const> x, std::span<double const> y) {
    OSORA_CHECK_EQ(x.size(), y.size());
    OSORA_CHECK_LE(std::size_t{10}, x.size());
    std::vector<double> slopes;
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = i + 1; j < x.size(); ++j) {
            if (x[i] != x[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
        }
    }
    std::ranges::sort(slopes);
    auto const n = static_cast<double>(x.size());
    double const deviation = 1.96 * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
    auto const pairs = static_cast<double>(slopes.size());
    double const upper = std::min((pairs + deviation) / 2, pairs - 1);
    return {.median = slopes[slopes.size() / 2],
            .upper_95 = slopes[static_cast<std::size_t>(std::ceil(upper))]};
}

}  // namespace osora::bench
