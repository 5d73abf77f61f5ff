#include "simulated_fabric.hpp"

#include <algorithm>

namespace osora::topology {
namespace {

constexpr double kSeconds = 0.4;

}  // namespace

std::vector<std::string> SimulatedFabric::leaf_names() const {
    std::vector<std::string> names;
    for (std::size_t node = 0; node < node_gbit_s.size(); ++node) {
        names.push_back(leaf_of_node.empty() ? "" : "leaf" + std::to_string(leaf_of_node[node]));
    }
    return names;
}

std::vector<PairSample> SimulatedFabric::measure(ProbeRound const& round,
                                                 std::mt19937_64& random) const {
    auto const leaf = [&](int node) {
        return leaf_of_node.empty() ? 0 : leaf_of_node[static_cast<std::size_t>(node)];
    };
    std::map<int, int> crossing;  // transfers on a leaf's uplink
    for (auto const& each : round.pairs) {
        if (leaf(each.from) == leaf(each.to)) continue;
        ++crossing[leaf(each.from)];
        ++crossing[leaf(each.to)];
    }
    std::normal_distribution<double> normal(0, noise);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<PairSample> samples;
    for (auto const& each : round.pairs) {
        double rate = std::min(node_gbit_s[static_cast<std::size_t>(each.from)],
                               node_gbit_s[static_cast<std::size_t>(each.to)]);
        for (int const end : {each.from, each.to}) {
            if (leaf(each.from) == leaf(each.to)) break;
            auto const uplink = uplink_gbit_s[static_cast<std::size_t>(leaf(end))];
            rate = std::min(rate, uplink / crossing[leaf(end)]);
        }
        auto const path = pairs.find(std::minmax(each.from, each.to));
        if (path != pairs.end()) rate *= path->second;
        rate *= std::max(0.0, 1 + normal(random));
        if (uniform(random) < outliers) rate *= 0.75;
        auto const bytes = static_cast<std::int64_t>(rate * kSeconds * 1e9 / 8);
        PairSample sample{.stage = round.stage,
                          .round = round.number,
                          .from = each.from,
                          .to = each.to,
                          .transport = "tcp",
                          .interface = each.network.empty() ? "eth0" : "eth1",
                          .size_bytes = bytes,
                          .seconds = kSeconds,
                          .network = each.network};
        samples.push_back(sample);
        std::swap(sample.from, sample.to);
        sample.size_bytes += bytes / 50;  // the slower direction is the one that counts
        samples.push_back(sample);
    }
    return samples;
}

SimulatedProbe simulate_probe(SimulatedFabric const& fabric, ProbeSetup setup,
                              std::mt19937_64& random) {
    setup.leaves = fabric.leaf_names();
    ProbeSchedule schedule(std::move(setup));
    SimulatedProbe probe;
    while (auto const round = schedule.next()) {
        ++probe.rounds;
        bool const leaf =
            round->stage == ProbeStage::leaf_one || round->stage == ProbeStage::leaf_all;
        probe.leaf_rounds += leaf ? 1 : 0;
        schedule.add(fabric.measure(*round, random));
    }
    probe.samples = schedule.samples();
    return probe;
}

std::vector<std::string> node_names(int count) {
    std::vector<std::string> names;
    for (int node = 0; node < count; ++node) names.push_back("n" + std::to_string(node));
    return names;
}

}  // namespace osora::topology
