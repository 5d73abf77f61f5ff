// What limits a run, from its shares: the words, their order, and when nothing is said.
#include "db/analysis/bottleneck.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace osora::db::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Symptoms shares(double data, double comm, double wait) {
    return {.number = 42, .steps = 100, .data_share = data, .comm_share = comm, .wait_share = wait};
}

std::vector<std::string> words(Symptoms const& symptoms) {
    std::vector<std::string> found;
    for (auto const& each : bottlenecks(symptoms)) {
        EXPECT_EQ(std::ranges::count(kBottlenecks, each.verdict), 1) << each.verdict;
        EXPECT_FALSE(each.evidence.empty());
        found.push_back(each.verdict);
    }
    return found;
}

TEST(Bottleneck, TheLargestPartComesFirst) {
    EXPECT_THAT(words(shares(0.3, 0.1, 0.2)),
                ElementsAre("input-bound", "straggler rank", "communication-bound"));
    EXPECT_THAT(words(shares(0.1, 0.3, 0.09)), ElementsAre("communication-bound", "input-bound"));
}

TEST(Bottleneck, WithoutALargePart) {
    EXPECT_THAT(words(shares(0.01, 0.02, 0.01)), ElementsAre("compute-bound"));
    EXPECT_THAT(words(shares(0.09, 0.09, 0.09)), ElementsAre("fine"));
    EXPECT_THAT(bottlenecks(shares(0.01, 0.02, 0.01))[0].evidence, HasSubstr("96 %"));
}

TEST(Bottleneck, LittleIsKnown) {
    double const none = std::nan("");
    EXPECT_THAT(words(shares(none, none, none)), IsEmpty());
    EXPECT_THAT(words(shares(none, 0.01, none)), ElementsAre("compute-bound"));
    EXPECT_THAT(words(shares(0.5, none, none)), ElementsAre("input-bound"));
    auto few = shares(0.5, 0.1, 0.1);
    few.steps = kBottleneckSteps - 1;
    EXPECT_THAT(words(few), IsEmpty());
}

TEST(Bottleneck, ASlowRankIsNamed) {
    auto symptoms = shares(0, 0, 0.25);
    symptoms.straggler = {.rank = 9, .late_s = 0.05, .share = 0.2, .steps = 80, .of_steps = 100};
    auto const found = bottlenecks(symptoms);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].evidence,
              "ranks wait for a slower one 25 % of the step: rank 9 arrives 50.0 ms after the "
              "others, last in 80 of 100 steps");
    EXPECT_EQ(found[0].next, "osora doctor --run 42");
    symptoms.wait_share = std::nan("");
    EXPECT_THAT(bottlenecks(symptoms)[0].evidence, testing::StartsWith("rank 9 arrives"));
}

TEST(Bottleneck, WhatGetsWorseComesBeforeWhatIsSlow) {
    auto symptoms = shares(0.3, 0, 0);
    symptoms.slower = "steps take 1.30 times as long as at first";
    symptoms.memory_growth = 0.2;
    EXPECT_THAT(words(symptoms), ElementsAre("regression", "memory creep", "input-bound"));
    symptoms.slower = "";
    symptoms.memory_growth = 0.05;
    EXPECT_THAT(words(symptoms), ElementsAre("input-bound"));
}

TEST(Bottleneck, MemoryThatGrows) {
    StepTable steps;
    std::vector<std::size_t> used(400);
    std::iota(used.begin(), used.end(), 0);
    auto& rss = steps.columns["rss_bytes"].max;
    for (int i = 0; i < 400; ++i) rss.push_back(8e9 + 1e7 * i);
    // Medians of steps 100 to 199 and 300 to 399.
    EXPECT_NEAR(memory_growth(steps, used), (8e9 + 3.495e9) / (8e9 + 1.495e9) - 1, 1e-9);
    std::ranges::fill(rss, 8e9);
    EXPECT_TRUE(std::isnan(memory_growth(steps, used)));
    used.resize(99);
    EXPECT_TRUE(std::isnan(memory_growth(steps, used)));
    EXPECT_TRUE(std::isnan(memory_growth({}, used)));
}

}  // namespace
}  // namespace osora::db::analysis
