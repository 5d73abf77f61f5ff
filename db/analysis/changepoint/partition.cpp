#include "db/analysis/changepoint/partition.hpp"

#include "base/check.hpp"
#include "db/analysis/changepoint/level_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace osora::db::analysis::changepoint {

std::vector<int> partition(std::span<double const> values, PartitionOptions const& options,
                           std::int64_t* work) {
    OSORA_CHECK_LE(1, options.min_segment);
    auto const count = values.size();
    auto const shortest = static_cast<std::size_t>(options.min_segment);
    if (count < 2 * shortest) return {};
    auto const [low, high] = std::ranges::minmax(values);
    constexpr double kNever = std::numeric_limits<double>::infinity();
    std::vector<double> best(count + 1, kNever);  // cost of the first e values
    std::vector<int> start(count + 1, 0);         // of their last segment
    best[0] = -options.penalty;
    std::optional<LevelCost> cost;
    for (std::size_t end = shortest; end <= count; ++end) {
        if (cost) cost->add(values[end - 1], options.clip);
        std::size_t const from = end - shortest;
        if (best[from] < kNever) {
            LevelCost newest(low, high, best[from] + options.penalty, static_cast<int>(from));
            for (double const value : values.subspan(from, shortest)) {
                newest.add(value, options.clip);
            }
            cost = cost ? cost->lower_of(newest) : newest;
        }
        if (work != nullptr) *work += static_cast<std::int64_t>(cost->size());
        auto const lowest = cost->lowest();
        best[end] = lowest.cost;
        start[end] = lowest.start;
    }
    std::vector<int> cuts;
    for (auto at = start[count]; at > 0; at = start[static_cast<std::size_t>(at)]) {
        cuts.push_back(at);
    }
    std::ranges::reverse(cuts);
    return cuts;
}

double segment_cost(std::span<double const> values, double clip) {
    std::vector<double> sorted(values.begin(), values.end());
    std::ranges::sort(sorted);
    auto const count = static_cast<double>(sorted.size());
    double least = count * clip * clip;
    for (std::size_t first = 0; first < sorted.size(); ++first) {
        double mean = 0, squares = 0, kept = 0;  // Welford's
        for (std::size_t i = first; i < sorted.size(); ++i) {
            kept += 1;
            double const step = sorted[i] - mean;
            mean += step / kept;
            squares += step * (sorted[i] - mean);
            least = std::min(least, squares + (count - kept) * clip * clip);
        }
    }
    return least;
}

}  // namespace osora::db::analysis::changepoint
