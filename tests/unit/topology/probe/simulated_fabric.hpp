// A fabric for tests: nodes and leaf uplinks with a capacity, noise, and transfers that are odd.
#pragma once

#include "topology/probe/probe_schedule.hpp"

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace osora::topology {

struct SimulatedFabric {
    std::vector<double> node_gbit_s;
    std::vector<int> leaf_of_node = {};                // empty: one leaf
    std::vector<double> uplink_gbit_s = {};            // by leaf
    std::map<std::pair<int, int>, double> pairs = {};  // factor of one pair's path, a < b
    double noise = 0.03;                               // standard deviation of a transfer, relative
    double outliers = 0.01;                            // share of transfers that lose a quarter

    /// Both directions of each pair of the round.
    [[nodiscard]] std::vector<PairSample> measure(ProbeRound const& round,
                                                  std::mt19937_64& random) const;
    [[nodiscard]] std::vector<std::string> leaf_names() const;
};

struct SimulatedProbe {
    std::vector<PairSample> samples;
    int rounds = 0;       // all of them
    int leaf_rounds = 0;  // of those, between leaves
};
[[nodiscard]] SimulatedProbe simulate_probe(SimulatedFabric const& fabric, ProbeSetup setup,
                                            std::mt19937_64& random);

/// "n0", "n1"...
[[nodiscard]] std::vector<std::string> node_names(int count);

}  // namespace osora::topology
