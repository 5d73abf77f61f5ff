// The bandwidths that a probe measured between nodes, in the order of their leaves. Pure.
#pragma once

#include "db/record/probe_record.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

/// A square; rows and columns are nodes ordered by leaf, then number. Of more than kNodesInMatrix
/// nodes they are leaves.
struct PairMatrix {
    bool by_leaf = false;
    std::vector<std::string> names;
    std::vector<std::string> leaf_of;  // by row; empty names where leaves are not known
    /// Gbit/s, row by row, both directions alike: the median over rounds of the slower direction.
    /// NaN: not measured.
    std::vector<double> gbit_s;
};

constexpr std::size_t kNodesInMatrix = 128;

/// Over the first network; transfers that are no measurement are left out. Between nodes those of
/// single pairs count, between leaves those with all nodes active, where there are any. Empty for
/// fewer than two nodes or no transfer.
[[nodiscard]] PairMatrix pair_matrix(ProbeRecord const& probe);

}  // namespace osora::db::analysis
