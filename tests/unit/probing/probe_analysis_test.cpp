#include "topology/probing/probe_analysis.hpp"
#include "topology/probing/probe_schedule.hpp"

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
