// The bandwidths between nodes that a probe measured, ordered by leaf. Pure.
#pragma once

#include "db/record/probe_record.hpp"

#include <string>
#include <vector>

namespace osora::db::analysis {

/// A square; rows and columns are nodes ordered by leaf, then number; with more than kNodesInMatrix
/// nodes they are leaves.
struct PairMatrix {
    bool by_leaf = false;
    std::vector<std::string> names;
    std::vector<std::string> leaf_of;  // by row; empty names if leaves are unknown
    /// Gbit/s, row by row, both directions alike: the median over rounds of the slower direction.
    /// NaN: not measured.
    std::vector<double> gbit_s;
};

constexpr std::size_t kNodesInMatrix = 128;

/// Over the first network, without transfers that are not measurements. Between nodes, transfers of
/// single pairs count; between leaves, those with all nodes active, if there are any. Empty for
/// fewer than two nodes or no transfer.
[[nodiscard]] PairMatrix pair_matrix(ProbeRecord const& probe);

}  // namespace osora::db::analysis
