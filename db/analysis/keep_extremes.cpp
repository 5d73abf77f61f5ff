// Keeps rows as they were measured, never means of them: each drawn point can be looked up.
#include "db/analysis/keep_extremes.hpp"

#include <algorithm>
#include <cmath>

namespace osora::db::analysis {

std::vector<std::size_t> keep_extremes(std::span<std::vector<double> const* const> columns,
                                       std::span<std::size_t const> rows, std::size_t limit) {
    std::vector<std::size_t> kept(rows.begin(), rows.end());
    if (rows.size() <= limit || columns.empty()) return kept;
    kept = {rows.front(), rows.back()};
    std::size_t const groups = std::max<std::size_t>(1, limit / (2 * columns.size()));
    for (std::size_t group = 0; group < groups; ++group) {
        auto const part =
            rows.subspan(group * rows.size() / groups,
                         (group + 1) * rows.size() / groups - group * rows.size() / groups);
        for (auto const* column : columns) {
            std::size_t const* lowest = nullptr;
            std::size_t const* highest = nullptr;
            for (auto const& row : part) {
                double const value = (*column)[row];
                if (std::isnan(value)) continue;
                if (lowest == nullptr || value < (*column)[*lowest]) lowest = &row;
                if (highest == nullptr || value > (*column)[*highest]) highest = &row;
            }
            if (lowest != nullptr) kept.insert(kept.end(), {*lowest, *highest});
        }
    }
    std::ranges::sort(kept);
    kept.erase(std::ranges::unique(kept).begin(), kept.end());
    return kept;
}

}  // namespace osora::db::analysis
