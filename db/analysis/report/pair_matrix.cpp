// A pair's rate is that of topology/probe/probe_analysis.hpp: the slower direction of a round
// counts.
#include "db/analysis/report/pair_matrix.hpp"

#include "base/robust.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace osora::db::analysis {
namespace {

/// Row index by node; nodes without a result have none.
std::map<int, std::size_t> rows_of(ProbeRecord const& probe, PairMatrix& into) {
    auto nodes = probe.nodes;
    std::ranges::stable_sort(nodes, {},
                             [](ProbeNode const& each) { return std::pair(each.leaf, each.node); });
    into.by_leaf = nodes.size() > kNodesInMatrix;
    std::map<int, std::size_t> rows;
    for (auto const& node : nodes) {
        auto const& name = into.by_leaf ? node.leaf : node.hostname;
        if (!into.by_leaf || into.names.empty() || into.names.back() != name) {
            into.names.push_back(name);
            into.leaf_of.push_back(node.leaf);
        }
        rows[node.node] = into.names.size() - 1;
    }
    return rows;
}

}  // namespace

PairMatrix pair_matrix(ProbeRecord const& probe) {
    PairMatrix matrix;
    if (probe.nodes.size() < 2) return matrix;
    auto const rows = rows_of(probe, matrix);
    auto const is_shared = [](ProbeTransfer const& each) { return each.stage == "leaf_all"; };
    bool const shared = matrix.by_leaf && std::ranges::any_of(probe.transfers, is_shared);
    std::map<std::tuple<std::string, int, int, int>, double> slower;
    for (auto const& each : probe.transfers) {
        bool const usable = std::isfinite(each.seconds) && each.seconds > 0 &&
                            each.size_bytes >= 0 && each.from != each.to && each.network.empty() &&
                            rows.contains(each.from) && rows.contains(each.to) &&
                            is_shared(each) == shared;
        if (!usable) continue;
        double const gbit_s = static_cast<double>(each.size_bytes) * 8 / each.seconds / 1e9;
        auto const [a, b] = std::minmax(each.from, each.to);
        auto const [at, added] = slower.try_emplace({each.stage, each.round, a, b}, gbit_s);
        if (!added) at->second = std::min(at->second, gbit_s);
    }
    if (slower.empty()) return {};
    std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> cells;
    for (auto const& [key, gbit_s] : slower) {
        auto const a = rows.at(std::get<2>(key)), b = rows.at(std::get<3>(key));
        cells[std::minmax(a, b)].push_back(gbit_s);
    }
    std::size_t const size = matrix.names.size();
    matrix.gbit_s.assign(size * size, std::numeric_limits<double>::quiet_NaN());
    for (auto const& [place, values] : cells) {
        double const middle = median(values);
        matrix.gbit_s[place.first * size + place.second] = middle;
        matrix.gbit_s[place.second * size + place.first] = middle;
    }
    return matrix;
}

}  // namespace osora::db::analysis
