// Selection instead of sorting: series have tens of thousands of steps.
#include "base/robust.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace osora {

double median(std::vector<double> values) {
    std::erase_if(values, [](double value) { return std::isnan(value); });
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Spread median_and_mad(std::vector<double> values) {
    Spread spread;
    spread.median = median(values);
    for (double& value : values) value = std::abs(value - spread.median);
    spread.mad = median(std::move(values));
    return spread;
}

double mean(std::span<double const> values) {
    double sum = 0;
    std::size_t count = 0;
    for (double const value : values) {
        if (std::isnan(value)) continue;
        sum += value;
        ++count;
    }
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
}

}  // namespace osora
