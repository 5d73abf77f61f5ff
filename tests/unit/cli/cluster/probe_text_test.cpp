#include "cli/cluster/probe_text.hpp"
#include "base/text/units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using topology::ProbeResult;

ProbeResult four_nodes(double slow_gbit_s) {
    ProbeResult result;
    result.nodes = {"n0", "n1", "n2", "n3"};
    result.leaves = {"", "", "", ""};
    result.median_gbit_s = 100;
    int round = 0;
    for (auto const& [a, b] :
         {std::pair{0, 1}, std::pair{2, 3}, std::pair{0, 2}, std::pair{1, 3}}) {
        double const rate = b == 3 ? slow_gbit_s : 100;
        topology::PairSample sample;
        sample.round = round++;
        sample.from = a;
        sample.to = b;
        sample.seconds = 1;
        sample.size_bytes = static_cast<std::int64_t>(rate * 1e9 / 8);
        result.pairs.push_back(sample);
    }
    for (int node = 0; node < 4; ++node) {
        bool const slow = node == 3 && slow_gbit_s < 90;
        double const share = node == 3 ? slow_gbit_s / 100 : 1;
        result.scores.push_back({.gbit_s = share * 100,
                                 .of_median = share,
                                 .samples = 2,
                                 .bad = slow,
                                 .interface = "eth0"});
    }
    if (slow_gbit_s < 90) {
        result.findings.push_back({.kind = "slow_node",
                                   .nodes = {"n3"},
                                   .where = "n3",
                                   .ratio = slow_gbit_s / 100,
                                   .evidence = "31 Gbit/s in the median of 2 transfers"});
    }
    return result;
}

TEST(ProbeText, AllIsWell) {
    EXPECT_EQ(render_probe(four_nodes(96), {.seconds = 9}),
              "probe    4 nodes in 9.00 s: all within 4 % of 100 Gbit/s a pair\n"
              "\n"
              "n0        99.\n"
              "n1       9 .9\n"
              "n2       9. 9\n"
              "n3       .99\n"
              "         tenths of the median; . not measured\n");
}

TEST(ProbeText, WhatIsSlowIsNamedWithWhatToDo) {
    auto const text = render_probe(four_nodes(31), {.seconds = 9});
    EXPECT_THAT(text, StartsWith("probe    4 nodes in 9.00 s: 3 within 0 % of 100 Gbit/s a pair\n"
                                 "n3       SLOW  31 Gbit/s in the median of 2 transfers\n"));
    EXPECT_THAT(text, EndsWith("\nnext: leave it out: --set 'faults.exclude_nodes=[\"n3\"]'\n"));
    EXPECT_TRUE(has_fault(four_nodes(31)));
    EXPECT_FALSE(has_fault(four_nodes(96)));
}

TEST(ProbeText, OneNodeHasNoPair) {
    ProbeResult result;
    result.nodes = {"here"};
    result.storage.push_back({.node = 0,
                              .path = "/data/a",
                              .alone = true,
                              .read_bytes_per_s = 2.0 * (1 << 30),
                              .open_us = 120,
                              .files = 3});
    EXPECT_EQ(render_probe(result, {.seconds = 1}),
              "probe    1 node in 1.00 s: no pair to measure\n"
              "storage  2.00 GiB/s by one node alone; open 120 us\n");
}

TEST(ProbeText, RatesHaveThreeDigits) {
    EXPECT_EQ(format_gbit_per_s(0.2433), "243 Mbit/s");
    EXPECT_EQ(format_gbit_per_s(3.62), "3.62 Gbit/s");
    EXPECT_EQ(format_gbit_per_s(369.3), "369 Gbit/s");
}

TEST(ProbeText, ManyNodesAreShownByLeaf) {
    ProbeResult result;
    result.median_gbit_s = 100;
    for (int node = 0; node < 80; ++node) {
        result.nodes.push_back("n" + std::to_string(node));
        result.leaves.push_back("leaf" + std::to_string(node / 20));
    }
    topology::PairSample sample;
    sample.stage = topology::ProbeStage::leaf_all;
    sample.from = 1;
    sample.to = 21;
    sample.seconds = 1;
    sample.size_bytes = 6'300'000'000;
    result.pairs = {sample};
    EXPECT_EQ(probe_matrix(result),
              "leaf0     5..\n"
              "leaf1    5 ..\n"
              "leaf2    .. .\n"
              "leaf3    ...\n"
              "         tenths of the median; . not measured\n");
}

}  // namespace
}  // namespace osora::cli
