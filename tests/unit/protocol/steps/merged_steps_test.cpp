#include "protocol/steps/merged_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace osora::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(FigureSummary, PartsGiveTheWholeWhateverTheirOrder) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> real(-1, 1);
    for (int round = 0; round < 200; ++round) {
        std::vector<FigureSummary> parts;
        double sum = 0, min = 2, max = -2;
        int n = 0, argmax = -1;
        for (int part = 0; part < 5; ++part) {
            FigureSummary each;
            for (int i = 0; i <= part; ++i) {
                double const value = real(random);
                each.merge({1, value, value, value, n});
                if (value > max) argmax = n;
                sum += value;
                min = std::min(min, value);
                max = std::max(max, value);
                ++n;
            }
            parts.push_back(each);
        }
        std::ranges::shuffle(parts, random);
        FigureSummary whole;
        for (auto const& each : parts) whole.merge(each);
        EXPECT_EQ(whole.n, n);
        EXPECT_NEAR(whole.mean, sum / n, 1e-14);
        EXPECT_EQ(whole.min, min);
        EXPECT_EQ(whole.max, max);
        EXPECT_EQ(whole.argmax, argmax);
    }
}

TEST(FigureSummary, NotANumberIsTheGreatestAndNoRanksChangeNothing) {
    double const nan = std::nan("");
    FigureSummary some{2, 1.0, 0.5, 1.5, 3};
    some.merge({0, 9, 9, 9, 9});
    EXPECT_EQ(some.n, 2);
    EXPECT_EQ(some.max, 1.5);
    some.merge({2, nan, 0.25, nan, 7});
    EXPECT_TRUE(std::isnan(some.mean));
    EXPECT_TRUE(std::isnan(some.max));
    EXPECT_EQ(some.argmax, 7);
    EXPECT_EQ(some.min, 0.25);
    some.merge({1, nan, nan, nan, 5});
    EXPECT_EQ(some.argmax, 5) << "of equal ones the lowest rank";
    EXPECT_EQ(some.min, 0.25);
}

MetricChunk chunk() {
    MetricChunk made;
    made.node = 3;
    made.ranks = 4;
    made.step0 = 10;
    made.bucket = {"a", "b"};
    made.samples = {8, 8};
    made.columns["step_time_s"] = {{1, 2}, {1, 2}, {1.5, 2.5}, {12, 12}};
    made.columns["arrival_s"] = {{1, 2}, {1, 2}, {1.25, 2.25}, {12, 14}};
    made.columns["exposed_comm_s"] = {{0.5, 1.5}, {0, 0}, {3, 3}, {12, 12}};
    made.columns["rss_bytes"] = {{1, 1}, {1, 1}, {3e9, 2e9}, {12, 12}};
    made.columns["peak_allocated_bytes"] = {{1, 1}, {1, 1}, {6.1e10, 6e10}, {12, 12}};
    return made;
}

TEST(MergedSteps, TheLastReportOfANode) {
    auto const reported = node_report_of(chunk(), 4);
    EXPECT_EQ(reported.node, 3);
    EXPECT_EQ(reported.next_step, 12);
    EXPECT_EQ(reported.step_time_s, 2.0) << "of the slowest rank";
    EXPECT_EQ(reported.arrival_s, 1.75);
    EXPECT_EQ(reported.exposed_comm_s, 1.0) << "of all ranks";
    EXPECT_EQ(reported.latest_local_rank, 2) << "in the newest step";
    EXPECT_EQ(reported.rss_bytes, 2e9) << "in the newest step";
    EXPECT_EQ(reported.peak_allocated_bytes, 6.1e10);
    EXPECT_EQ(node_report_of(chunk(), 2).latest_local_rank, -1) << "a rank of another node";
    auto const silent = node_report_of(MetricChunk{}, 4);
    EXPECT_TRUE(std::isnan(silent.step_time_s));
    EXPECT_EQ(silent.latest_local_rank, -1);
}

TEST(MergedSteps, NodesComeBackWithinOneInAThousand) {
    std::mt19937 random(2);
    std::uniform_real_distribution<double> power(-6, 3);
    for (int nodes : {1, 2, 128, 5000}) {
        std::vector<NodeReport> reported;
        for (int node = 0; node < nodes; ++node) {
            if (node % 7 == 3) continue;
            NodeReport each;
            each.node = 40 + node;
            each.next_step = 1000 + node;
            each.step_time_s = std::pow(10, power(random));
            each.arrival_s = node % 5 == 0 ? std::nan("") : std::pow(10, power(random));
            each.exposed_comm_s = 0;
            each.latest_local_rank = node % 9 - 1;
            each.rss_bytes = 1e9 * std::pow(10, power(random));
            each.peak_allocated_bytes = 3e13;
            reported.push_back(each);
        }
        MergedSteps steps;
        put_nodes(steps, reported);
        auto const back = nodes_of(steps);
        ASSERT_TRUE(back.has_value()) << back.error().message;
        ASSERT_THAT(*back, SizeIs(reported.size()));
        auto const near = [](double a, double b) {
            return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1.001e-3 * a;
        };
        for (std::size_t i = 0; i < reported.size(); ++i) {
            EXPECT_EQ(back->at(i).node, reported[i].node);
            EXPECT_EQ(back->at(i).next_step, reported[i].next_step);
            EXPECT_EQ(back->at(i).latest_local_rank, reported[i].latest_local_rank);
            EXPECT_PRED2(near, reported[i].step_time_s, back->at(i).step_time_s);
            EXPECT_PRED2(near, reported[i].arrival_s, back->at(i).arrival_s);
            EXPECT_EQ(back->at(i).exposed_comm_s, 0);
            EXPECT_PRED2(near, reported[i].rss_bytes, back->at(i).rss_bytes);
            EXPECT_PRED2(near, reported[i].peak_allocated_bytes, back->at(i).peak_allocated_bytes);
        }
    }
}

TEST(MergedSteps, DamagedNodesAreAnError) {
    MergedSteps good;
    put_nodes(good, {node_report_of(chunk(), 4)});
    ASSERT_TRUE(nodes_of(good).has_value());
    for (auto change : {+[](MergedSteps& s) { s.local_ranks.clear(); },
                        +[](MergedSteps& s) { s.next_steps.push_back(1); },
                        +[](MergedSteps& s) { s.first_node = -1; },
                        +[](MergedSteps& s) { s.first_node = std::numeric_limits<int>::max(); },
                        +[](MergedSteps& s) { s.next_steps.assign(1 << 20, 1); },
                        +[](MergedSteps& s) { s.node_figures.value = "?"; },
                        +[](MergedSteps& s) { s.node_figures.value.pop_back(); }}) {
        auto bad = good;
        change(bad);
        EXPECT_TRUE(nodes_of(bad).has_error());
    }
}

TEST(MergedSteps, AChunkOfAnOldJournalIsOneNodesSteps) {
    auto const steps = merged_steps_of(chunk());
    EXPECT_THAT(steps.ranks, ElementsAre(4, 4));
    auto const nodes = nodes_of(steps);
    ASSERT_TRUE(nodes.has_value());
    ASSERT_THAT(*nodes, SizeIs(1));
    EXPECT_EQ(nodes->at(0).node, 3);
    EXPECT_EQ(nodes->at(0).next_step, 12);
    auto const& column = steps.columns.at("step_time_s");
    EXPECT_EQ(summary_of(steps, "step_time_s", column, 1).max, 2.5);
    EXPECT_EQ(summary_of(steps, "step_time_s", column, 1).n, 4);
    EXPECT_EQ(summary_of(steps, "step_time_s", column, 2).n, 0) << "no such step";
    auto far = chunk();
    far.step0 = std::numeric_limits<int>::max();
    EXPECT_EQ(merged_steps_of(far).next_steps[0], std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace osora::protocol
