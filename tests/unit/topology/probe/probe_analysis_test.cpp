#include "topology/probe/probe_analysis.hpp"
#include "topology/probe/leaf_address.hpp"
#include "topology/probe/probe_schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace osora::topology {
namespace {

PairSample sample(int from, int to, std::int64_t bytes, double seconds) {
    return {.stage = ProbeStage::matching,
            .round = 0,
            .from = from,
            .to = to,
            .transport = "tcp",
            .interface = "",
            .size_bytes = bytes,
            .seconds = seconds};
}

TEST(PairRates, the_slower_direction_counts) {
    auto const rates =
        pair_rates({sample(0, 1, 1'000'000'000, 1), sample(1, 0, 500'000'000, 1)}, 2);
    ASSERT_EQ(rates.size(), 1u);
    EXPECT_DOUBLE_EQ(rates[0].gbit_s, 4.0);
}

TEST(PairRates, what_is_no_measurement_is_left_out) {
    double const nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
    EXPECT_TRUE(pair_rates({sample(0, 1, 5, 0), sample(0, 1, 5, -1), sample(0, 1, -5, 1),
                            sample(0, 1, 5, nan), sample(0, 1, 5, infinite), sample(1, 1, 5, 1),
                            sample(0, 9, 5, 1), sample(-1, 1, 5, 1)},
                           2)
                    .empty());
}

TEST(LeafOfAddress, is_the_last_part_that_is_no_node) {
    EXPECT_EQ(leaf_of_address("spine.leaf0.n3", "switch.switch.node"), "leaf0");
    EXPECT_EQ(leaf_of_address("spine.leaf0.n3", ""), "leaf0");
    EXPECT_EQ(leaf_of_address("spine.leaf1.n3.site.org", "switch.switch.node"), "leaf1");
    EXPECT_EQ(leaf_of_address("b1.n3", "block.node"), "b1");
    EXPECT_EQ(leaf_of_address("n3", "node"), "");
    EXPECT_EQ(leaf_of_address("", ""), "");
    EXPECT_EQ(leaf_of_address("..", "switch.switch.node"), "");
}

TEST(AnalyseProbe, a_node_whose_traffic_takes_the_slow_card_does_well_on_the_other) {
    std::vector<PairSample> samples;
    for (int round = 0; round < 3; ++round) {
        for (auto const& [a, b] :
             {std::pair{0, round + 1}, std::pair{(round + 1) % 3 + 1, (round + 2) % 3 + 1}}) {
            bool const slow = a == 2 || b == 2;
            auto both = sample(a, b, slow ? 12'500'000 : 125'000'000, 1);
            both.round = round;
            both.interface = slow ? "eth0" : "eth1";
            samples.push_back(both);
            both.stage = ProbeStage::interface_one;
            both.size_bytes = 125'000'000;
            both.interface = "eth1";
            both.network = "10.1.0.0/16";
            samples.push_back(both);
            std::swap(both.from, both.to);
            samples.push_back(both);
        }
    }
    auto const found = analyse_probe({"a", "b", "c", "d"}, {"", "", "", ""}, samples);
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_EQ(found.findings[0].where, "c");
    EXPECT_NE(found.findings[0].evidence.find("over eth1 (10.1.0.0/16) it reaches 1 Gbit/s"),
              std::string::npos)
        << found.findings[0].evidence;
    EXPECT_EQ(found.interfaces.size(), 8u);
}

TEST(AnalyseProbe, a_faster_network_that_ranks_do_not_use_is_named) {
    std::vector<PairSample> samples;
    for (auto const& [a, b] : {std::pair{0, 1}, std::pair{0, 2}, std::pair{1, 2}}) {
        auto each = sample(a, b, 125'000'000, 1);
        samples.push_back(each);
        each.stage = ProbeStage::interface_one;
        each.network = "10.1.0.0/16";
        each.size_bytes *= 10;
        samples.push_back(each);
    }
    auto const found = analyse_probe({"a", "b", "c"}, {"", "", ""}, samples);
    ASSERT_EQ(found.findings.size(), 1u);
    EXPECT_EQ(found.findings[0].kind, "slow_network");
    EXPECT_NEAR(found.findings[0].ratio, 0.1, 1e-9);
}

TEST(AnalyseProbe, one_node_or_no_sample_is_an_empty_answer) {
    EXPECT_TRUE(analyse_probe({"a"}, {""}, {}).findings.empty());
    auto const none = analyse_probe({"a", "b"}, {"", ""}, {});
    EXPECT_EQ(none.median_gbit_s, 0);
    EXPECT_EQ(none.scores.size(), 2u);
    EXPECT_EQ(none.scores[0].samples, 0);
}

TEST(ProbeSchedule, one_node_has_nothing_to_measure) {
    ProbeSchedule schedule({.leaves = {""}});
    EXPECT_FALSE(schedule.next().has_value());
    ProbeSchedule none({.leaves = {}});
    EXPECT_FALSE(none.next().has_value());
}

TEST(ProbeSchedule, a_node_that_vanishes_is_in_no_further_round) {
    ProbeSchedule schedule({.leaves = std::vector<std::string>(8)});
    ASSERT_TRUE(schedule.next().has_value());
    schedule.lose(3);
    int rounds = 0;
    while (auto const round = schedule.next()) {
        ++rounds;
        for (auto const& each : round->pairs) EXPECT_TRUE(each.from != 3 && each.to != 3);
    }
    EXPECT_GE(rounds, 4);
}

TEST(ProbeSchedule, further_networks_are_measured_among_their_nodes) {
    ProbeSchedule schedule(
        {.leaves = std::vector<std::string>(6), .networks = {{"10.1.0.0/16", {0, 2, 4}}}});
    int rounds = 0;
    while (auto const round = schedule.next()) {
        if (round->stage != ProbeStage::interface_one) continue;
        ++rounds;
        for (auto const& each : round->pairs) {
            EXPECT_EQ(each.network, "10.1.0.0/16");
            EXPECT_TRUE(each.from % 2 == 0 && each.to % 2 == 0);
        }
    }
    EXPECT_EQ(rounds, 2);
}

}  // namespace
}  // namespace osora::topology
