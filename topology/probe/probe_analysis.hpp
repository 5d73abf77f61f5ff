// Results from the transfers of a probe: a score for each node, and findings that name a node, a
// leaf's uplink or a pair, with figures. Pure.
#pragma once

#include "topology/probe_result.hpp"

#include <set>
#include <string>
#include <vector>

namespace osora::topology {

/// One value per pair, stage, round and network: the slower of its directions, in Gbit/s.
struct PairRate {
    ProbeStage stage = ProbeStage::matching;
    int round = 0;
    int a = 0, b = 0;     // a < b
    std::string network;  // PairSample::network
    double gbit_s = 0;
};
/// Ignores samples that are not measurements (no time, not finite, negative, of an unknown node).
[[nodiscard]] std::vector<PairRate> pair_rates(std::vector<PairSample> const& samples, int nodes);

/// Leaves as numbers, by node; -1 = unknown. Names in order of appearance.
struct Leaves {
    std::vector<int> of_node;
    std::vector<std::string> names;

    [[nodiscard]] int count() const { return static_cast<int>(names.size()); }
    [[nodiscard]] bool crosses(PairRate const& pair) const {
        return of_node[static_cast<std::size_t>(pair.a)] !=
               of_node[static_cast<std::size_t>(pair.b)];
    }
    [[nodiscard]] std::vector<std::vector<int>> nodes() const;  // by leaf
};
[[nodiscard]] Leaves leaves_of(std::vector<std::string> const& by_node);

struct ProbeAnalysis {
    std::vector<NodeScore> scores;  // by node
    double median_gbit_s = 0;
    std::vector<ProbeFinding> findings;              // worst first
    std::vector<InterfaceScore> interfaces;          // when there is more than one network
    std::set<int> suspects;                          // nodes for which another transfer would give
                                                     // certainty
    std::vector<std::pair<int, int>> suspect_pairs;  // low between good nodes, worst first
};

/// `nodes`: names; `leaves`: by node, "" = unknown. A slow transfer through a leaf's uplink blames
/// no node.
[[nodiscard]] ProbeAnalysis analyse_probe(std::vector<std::string> const& nodes,
                                          std::vector<std::string> const& leaves,
                                          std::vector<PairSample> const& samples);

}  // namespace osora::topology
