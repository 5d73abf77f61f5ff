// Which nodes are named, and what is left out.
#include "db/analysis/node_drift.hpp"

#include "tests/unit/db/analysis/synthetic_probes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace osora::tests {
namespace {

using db::analysis::node_drift;
using db::analysis::NodeScore;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<NodeScore> probes(ProbesSpec const& spec) {
    std::mt19937_64 random(3);
    return synthetic_probes(spec, random);
}

/// Makes a node's scores of probes [from, to) so many times as high.
void scale(std::vector<NodeScore>& scores, std::string const& host, int from, int to,
           double factor) {
    for (auto& score : scores) {
        if (score.host != host || score.run <= from || score.run > to) continue;
        score.rate *= factor;
        score.of_median *= factor;
    }
}

TEST(NodeDrift, ANodeThatDroppedIsNamed) {
    auto const report = node_drift(probes({.nodes = 32, .drop = 0.2, .at = 12, .storage = false}));
    EXPECT_EQ(report.nodes, 32);
    EXPECT_EQ(report.probes, 20);
    EXPECT_EQ(report.series, 32);
    ASSERT_THAT(report.drifted, SizeIs(1));
    auto const& drift = report.drifted[0];
    EXPECT_EQ(drift.host, "n0");
    EXPECT_EQ(drift.leaf, "leaf0");
    EXPECT_EQ(drift.since_run, 13);
    EXPECT_EQ(drift.since_us, 1'760'000'000'000'000 + 12 * 86'400'000'000);
    EXPECT_EQ(drift.probes_before, 12);
    EXPECT_EQ(drift.probes_since, 8);
    EXPECT_NEAR(drift.before, 1, 0.02);
    EXPECT_NEAR(drift.after, 0.8, 0.02);
    EXPECT_NEAR(drift.rate_after, 4e9, 1e8);
    EXPECT_LE(drift.adjusted_p, 0.05);
    EXPECT_NEAR(drift.adjusted_p, drift.p * 32, 1e-12);  // one of 32 series
}

TEST(NodeDrift, WhatChangesForAllCancels) {
    auto scores = probes({.nodes = 32});
    for (auto& score : scores) {
        if (score.run > 10) score.rate *= 0.5;  // another switch, other storage
    }
    EXPECT_THAT(node_drift(scores).drifted, IsEmpty());
}

TEST(NodeDrift, StorageIsComparedWithTheOthersOfItsProbe) {
    auto scores = probes({.nodes = 32});
    for (auto& score : scores) {
        if (score.path.empty()) continue;
        if (score.run > 10) score.rate *= 0.5;
        if (score.host == "n7" && score.run > 14) score.rate *= 0.6;
    }
    auto const report = node_drift(scores);
    ASSERT_THAT(report.drifted, SizeIs(1));
    EXPECT_EQ(report.drifted[0].host, "n7");
    EXPECT_EQ(report.drifted[0].path, "/data");
    EXPECT_EQ(report.drifted[0].since_run, 15);
    EXPECT_NEAR(report.drifted[0].after, 0.6, 0.03);
}

TEST(NodeDrift, ARepairedNodeIsNotNamedAndAHalfRepairedOneIs) {
    auto scores = probes({.nodes = 32, .storage = false});
    scale(scores, "n1", 6, 13, 0.7);
    EXPECT_THAT(node_drift(scores).drifted, IsEmpty());
    scale(scores, "n2", 6, 13, 0.6);
    scale(scores, "n2", 13, 20, 0.8);
    auto const report = node_drift(scores);
    ASSERT_THAT(report.drifted, SizeIs(1));
    EXPECT_EQ(report.drifted[0].host, "n2");
    EXPECT_EQ(report.drifted[0].since_run, 7);
    EXPECT_NEAR(report.drifted[0].before, 1, 0.03);
    EXPECT_NEAR(report.drifted[0].after, 0.8, 0.03);
    EXPECT_EQ(report.drifted[0].probes_since, 14);
}

TEST(NodeDrift, ANodeThatWasAlwaysSlowOrSlowOnceHasNotDrifted) {
    auto scores = probes({.nodes = 32, .storage = false});
    scale(scores, "n3", 0, 20, 0.6);
    scale(scores, "n4", 19, 20, 0.3);
    EXPECT_THAT(node_drift(scores).drifted, IsEmpty());
}

TEST(NodeDrift, WhatCannotBeComparedIsLeftOutAndCounted) {
    auto scores = probes({.nodes = 8, .probes = 8, .storage = false});
    std::erase_if(scores, [](NodeScore const& score) {
        return (score.run == 8 && score.host > "n2") || (score.host == "n1" && score.run > 4);
    });
    double const bad[] = {std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity(), -1, 0};
    for (double const value : bad) {
        auto score = scores[0];
        score.host = "x";
        score.rate = score.of_median = value;
        scores.push_back(score);
    }
    scores.push_back(scores[0]);  // one machine twice in a probe
    auto const report = node_drift(scores);
    EXPECT_EQ(report.probes, 7);
    EXPECT_EQ(report.probes_small, 1);  // three nodes
    EXPECT_EQ(report.nodes, 7);
    EXPECT_EQ(report.nodes_few, 1);
    EXPECT_TRUE(report.decided());
    EXPECT_FALSE(node_drift({}).decided());
}

TEST(NodeDrift, NodesOfLongAgoAreGone) {
    auto scores = probes({.nodes = 8, .probes = 60, .storage = false});
    std::erase_if(scores, [](auto const& score) { return score.host == "n5" && score.run > 20; });
    scale(scores, "n5", 10, 20, 0.5);
    auto const report = node_drift(scores);
    EXPECT_EQ(report.nodes_gone, 1);
    EXPECT_THAT(report.drifted, IsEmpty());
}

}  // namespace
}  // namespace osora::tests
