// Medians over neighbouring steps: a rank that is late once is noise, one that stays late shows as
// a row of colour. Steps of a column are the same for all ranks, so their lengths may differ.
#include "db/analysis/report/rank_heat_map.hpp"

#include "base/robust.hpp"
#include "protocol/steps/matrix_codec.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <map>

namespace osora::db::analysis {
namespace {

constexpr int kRanksMax = 16384;

struct Extent {
    int first_step = INT_MAX, last_step = -1, ranks = 0;
    std::map<int, int, std::greater<>> start_of_attempt;  // newest first
};

bool usable(RankBlock const& block) {
    return block.ranks > 0 && block.steps > 0 && block.step0 >= 0 && block.first_rank >= 0 &&
           block.first_rank < kRanksMax && block.ranks <= kRanksMax - block.first_rank &&
           block.steps < INT_MAX - block.step0;
}

Extent extent_of(std::vector<RankBlock> const& blocks) {
    Extent extent;
    for (auto const& block : blocks) {
        if (!usable(block)) continue;
        extent.first_step = std::min(extent.first_step, block.step0);
        extent.last_step = std::max(extent.last_step, block.step0 + block.steps - 1);
        extent.ranks = std::max(extent.ranks, block.first_rank + block.ranks);
        auto const [at, added] = extent.start_of_attempt.try_emplace(block.attempt, block.step0);
        if (!added) at->second = std::min(at->second, block.step0);
    }
    return extent;
}

/// Whether a later attempt continued from this step or an earlier one.
bool superseded(Extent const& extent, int attempt, int step) {
    for (auto const& [later, start] : extent.start_of_attempt) {
        if (later <= attempt) return false;
        if (start <= step) return true;
    }
    return false;
}

/// Times by rank * columns + column.
using Cells = std::vector<std::vector<double>>;

void put(RankBlock const& block, Extent const& extent, int per_column, Cells& into) {
    auto const ranks = static_cast<std::size_t>(block.ranks);
    auto const values =
        protocol::decode_matrix(block.data, static_cast<std::size_t>(block.steps), ranks);
    if (values.has_error()) return;
    std::size_t const columns = into.size() / static_cast<std::size_t>(extent.ranks);
    for (int i = 0; i < block.steps; ++i) {
        int const step = block.step0 + i;
        if (superseded(extent, block.attempt, step)) continue;
        auto const column = static_cast<std::size_t>((step - extent.first_step) / per_column);
        for (std::size_t j = 0; j < ranks; ++j) {
            double const value = (*values)[static_cast<std::size_t>(i) * ranks + j];
            auto const rank = static_cast<std::size_t>(block.first_rank) + j;
            if (!std::isnan(value)) into[rank * columns + column].push_back(value);
        }
    }
}

/// As in rank_work(): the lower one of the two in the middle.
double middle_of(std::vector<double> values) {
    std::erase_if(values, [](double value) { return std::isnan(value); });
    if (values.empty()) return kUnknown;
    std::ranges::sort(values, std::greater{});
    return values[values.size() / 2];
}

}  // namespace

RankHeatMap rank_heat_map(std::vector<RankBlock> const& blocks) {
    RankHeatMap map;
    auto const extent = extent_of(blocks);
    if (extent.ranks < 2) return map;
    int const steps = extent.last_step - extent.first_step + 1;
    map.ranks = extent.ranks;
    map.ranks_per_row = (extent.ranks + kHeatMapRows - 1) / kHeatMapRows;
    map.steps_per_column = (steps + kHeatMapColumns - 1) / kHeatMapColumns;
    for (int step = 0; step < steps; step += map.steps_per_column) {
        map.step.push_back(extent.first_step + step);
    }
    auto const columns = map.step.size(), ranks = static_cast<std::size_t>(map.ranks);
    Cells cells(ranks * columns);
    for (auto const& block : blocks) {
        if (usable(block)) put(block, extent, map.steps_per_column, cells);
    }
    auto const per_row = static_cast<std::size_t>(map.ranks_per_row);
    map.excess.assign((ranks + per_row - 1) / per_row * columns, kUnknown);
    for (std::size_t column = 0; column < columns; ++column) {
        std::vector<double> times(ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            times[rank] = median(std::move(cells[rank * columns + column]));
        }
        double const middle = middle_of(times);
        if (!(middle > 0)) continue;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            auto& cell = map.excess[rank / per_row * columns + column];
            cell = std::fmax(cell, times[rank] / middle - 1);
        }
    }
    return map;
}

}  // namespace osora::db::analysis
