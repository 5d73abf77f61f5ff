#include "db/analysis/changepoint/two_modes.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <cmath>

namespace osora::db::analysis::changepoint {
namespace {

constexpr double kShareMin = 0.15;
constexpr double kApartMin = 4;  // distance of the medians, in mean scaled MADs
constexpr int kSwitchesMin = 4;  // and this share of the values
constexpr double kSwitchShareMin = 0.1;

/// Number of the sorted values in the lower group.
std::size_t best_split(std::vector<double> const& sorted) {
    double total = 0, lower = 0, best = -1;
    for (double const value : sorted) total += value - sorted.front();
    auto const count = static_cast<double>(sorted.size());
    std::size_t split = 0;
    for (std::size_t i = 1; i < sorted.size(); ++i) {
        lower += sorted[i - 1] - sorted.front();
        auto const left = static_cast<double>(i);
        double const apart = lower / left - (total - lower) / (count - left);
        double const between = left * (count - left) * apart * apart;
        if (sorted[i] > sorted[i - 1] && between > best) {
            best = between;
            split = i;
        }
    }
    return split;
}

}  // namespace

std::optional<Bimodality> two_modes(std::span<double const> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    std::size_t const split = best_split(sorted);
    if (split == 0) return std::nullopt;
    double const border = sorted[split];
    auto const middle = sorted.begin() + static_cast<std::ptrdiff_t>(split);
    auto const low = median_and_mad({sorted.begin(), middle});
    auto const high = median_and_mad({middle, sorted.end()});
    double const high_share =
        static_cast<double>(sorted.size() - split) / static_cast<double>(sorted.size());
    int switches = 0;
    for (std::size_t i = 1; i < values.size(); ++i) {
        switches += (values[i] >= border) != (values[i - 1] >= border);
    }
    double const width = kMadToDeviation * (low.mad + high.mad) / 2;
    bool const shared = std::min(high_share, 1 - high_share) >= kShareMin;
    bool const apart = high.median - low.median > kApartMin * width;
    bool const turns = switches >= kSwitchesMin &&
                       switches >= kSwitchShareMin * static_cast<double>(values.size());
    if (!shared || !apart || !turns) return std::nullopt;
    return Bimodality{low.median, high.median, high_share};
}

}  // namespace osora::db::analysis::changepoint
