// The schedule and the scores against a simulated fabric: who is named, and who is not. The figures
// to reach are those of docs/rfc/008.
#include "simulated_fabric.hpp"
#include "topology/probe/probe_analysis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace osora::topology {
namespace {

struct Case {
    int nodes, bad;
    double factor;
    int trials;
};

struct Tally {
    int right = 0, named = 0, bad = 0, rounds_max = 0;
};

Tally run(Case const& which) {
    std::mt19937_64 random(42);
    Tally tally;
    for (int trial = 0; trial < which.trials; ++trial) {
        SimulatedFabric fabric{
            .node_gbit_s = std::vector<double>(static_cast<std::size_t>(which.nodes), 100.0)};
        std::set<int> bad;
        while (static_cast<int>(bad.size()) < which.bad) {
            bad.insert(static_cast<int>(random() % static_cast<unsigned>(which.nodes)));
        }
        for (int const node : bad)
            fabric.node_gbit_s[static_cast<std::size_t>(node)] *= which.factor;
        auto const probe = simulate_probe(fabric, {.leaves = {}, .seed = random()}, random);
        // Later rounds look at pairs again.
        auto samples = probe.samples;
        std::erase_if(samples, [](PairSample const& each) { return each.round >= 6; });
        auto const found = analyse_probe(node_names(which.nodes), fabric.leaf_names(), samples);
        for (int node = 0; node < which.nodes; ++node) {
            if (!found.scores[static_cast<std::size_t>(node)].bad) continue;
            ++tally.named;
            tally.right += bad.contains(node) ? 1 : 0;
        }
        tally.bad += which.bad;
        tally.rounds_max = std::max(tally.rounds_max, probe.rounds);
    }
    return tally;
}

class BadNodes : public testing::TestWithParam<Case> {};

TEST_P(BadNodes, are_named_and_no_others) {
    auto const tally = run(GetParam());
    double const recall = double(tally.right) / tally.bad;
    double const precision = double(tally.right) / std::max(1, tally.named);
    RecordProperty("recall", std::to_string(recall));
    RecordProperty("precision", std::to_string(precision));
    std::printf("recall %.4f precision %.4f, at most %d rounds\n", recall, precision,
                tally.rounds_max);
    EXPECT_GE(recall, 0.998);
    EXPECT_GE(precision, 0.998);
    EXPECT_LE(tally.rounds_max, 8);
}

INSTANTIATE_TEST_SUITE_P(, BadNodes,
                         testing::Values(Case{1024, 10, 0.85, 100}, Case{1024, 10, 0.7, 100},
                                         Case{128, 3, 0.85, 300}, Case{128, 3, 0.7, 300},
                                         Case{16, 1, 0.85, 500}, Case{16, 1, 0.7, 500},
                                         Case{16, 3, 0.85, 500}, Case{16, 3, 0.7, 500}),
                         [](auto const& info) {
                             return "n" + std::to_string(info.param.nodes) + "_bad" +
                                    std::to_string(info.param.bad) + "_at" +
                                    std::to_string(int(info.param.factor * 100));
                         });

TEST(GoodNodes, accuse_nobody) {
    std::mt19937_64 random(5);
    int named = 0;
    for (int trial = 0; trial < 300; ++trial) {
        for (int const nodes : {2, 3, 5, 16, 64}) {
            SimulatedFabric const fabric{
                .node_gbit_s = std::vector<double>(static_cast<std::size_t>(nodes), 10.0)};
            auto const probe = simulate_probe(fabric, {.leaves = {}, .seed = random()}, random);
            auto const found = analyse_probe(node_names(nodes), fabric.leaf_names(), probe.samples);
            named += static_cast<int>(found.findings.size());
        }
    }
    EXPECT_LE(named, 15);  // of 1,500 probes
}

std::string reported(ProbeAnalysis const& found) {
    std::string text;
    for (auto const& each : found.findings) {
        text += "\n" + each.kind + " " + each.where + ": " + each.evidence;
    }
    return text;
}

SimulatedFabric fat_tree(int leaves, int of_leaf, double oversubscription = 1) {
    SimulatedFabric fabric;
    for (int node = 0; node < leaves * of_leaf; ++node) {
        fabric.node_gbit_s.push_back(100);
        fabric.leaf_of_node.push_back(node / of_leaf);
    }
    fabric.uplink_gbit_s.assign(static_cast<std::size_t>(leaves),
                                100.0 * of_leaf / oversubscription);
    return fabric;
}

ProbeAnalysis probe(SimulatedFabric const& fabric, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    auto const measured = simulate_probe(fabric, {.leaves = {}, .seed = seed}, random);
    return analyse_probe(node_names(static_cast<int>(fabric.node_gbit_s.size())),
                         fabric.leaf_names(), measured.samples);
}

TEST(Leaves, a_slow_uplink_is_named_and_its_nodes_are_not) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        auto fabric = fat_tree(4, 4);
        int const slow = static_cast<int>(seed % 4);
        fabric.uplink_gbit_s[static_cast<std::size_t>(slow)] /= 3;
        auto const found = probe(fabric, seed);
        ASSERT_EQ(found.findings.size(), 1u) << seed << reported(found);
        EXPECT_EQ(found.findings[0].kind, "slow_link");
        EXPECT_EQ(found.findings[0].where, "uplink of leaf" + std::to_string(slow));
        EXPECT_NEAR(found.findings[0].ratio, 1.0 / 3, 0.05);
    }
}

TEST(Leaves, a_slow_node_is_named_and_its_leaf_is_not) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        auto fabric = fat_tree(4, 4);
        int const slow = static_cast<int>(seed % 16);
        fabric.node_gbit_s[static_cast<std::size_t>(slow)] /= 3;
        auto const found = probe(fabric, seed);
        ASSERT_EQ(found.findings.size(), 1u) << seed << reported(found);
        EXPECT_EQ(found.findings[0].kind, "slow_node");
        EXPECT_EQ(found.findings[0].nodes[0], "n" + std::to_string(slow));
        EXPECT_NEAR(found.findings[0].ratio, 1.0 / 3, 0.05);
    }
}

TEST(Leaves, a_fabric_that_carries_half_of_its_nodes_is_oversubscribed_and_accuses_nobody) {
    auto const found = probe(fat_tree(8, 8, 2), 3);
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_EQ(found.findings[0].kind, "oversubscribed");
    EXPECT_NEAR(found.findings[0].ratio, 0.5, 0.05);
}

TEST(Leaves, of_two_leaves_the_link_between_is_named) {
    auto fabric = fat_tree(2, 8);
    fabric.uplink_gbit_s[1] /= 3;
    auto const found = probe(fabric, 3);
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_EQ(found.findings[0].where, "leaf0 - leaf1");
    EXPECT_NEAR(found.findings[0].ratio, 1.0 / 3, 0.05);
}

TEST(Pairs, a_bad_path_between_good_nodes_is_found_when_all_pairs_are_measured) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        SimulatedFabric fabric{.node_gbit_s = std::vector<double>(16, 100.0)};
        fabric.pairs[{3, 11}] = 0.7;
        std::mt19937_64 random(seed);
        auto const measured =
            simulate_probe(fabric, {.leaves = {}, .all_pairs = true, .seed = seed}, random);
        auto const found = analyse_probe(node_names(16), fabric.leaf_names(), measured.samples);
        ASSERT_EQ(found.findings.size(), 1u) << seed << reported(found);
        EXPECT_EQ(found.findings[0].where, "n3 - n11");
        EXPECT_EQ(found.findings[0].nodes, (std::vector<std::string>{"n3", "n11"}));
    }
}

}  // namespace
}  // namespace osora::topology
