// Own work of each rank over the steps, as cells that fit on a page. Pure.
#pragma once

#include "db/analysis/rank_work.hpp"

#include <vector>

namespace osora::db::analysis {

struct RankHeatMap {
    int ranks = 0;
    int ranks_per_row = 1;     // a row shows the slowest of its ranks
    int steps_per_column = 1;  // a cell is their median
    std::vector<int> step;     // first one of each column
    /// Row by row: excess of the rank's own work over that of the column's median rank, as a share
    /// of it (with two ranks: over the faster one's, as in RankWork). NaN: not recorded.
    std::vector<double> excess;

    [[nodiscard]] std::size_t rows() const {
        return step.empty() ? 0 : excess.size() / step.size();
    }
};

constexpr int kHeatMapRows = 64;
constexpr int kHeatMapColumns = 120;

/// Empty for a single rank. Leaves out blocks that cannot be read; for a step that several attempts
/// did, the last one counts.
[[nodiscard]] RankHeatMap rank_heat_map(std::vector<RankBlock> const& blocks);

}  // namespace osora::db::analysis
