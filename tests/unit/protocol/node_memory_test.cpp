#include "protocol/node_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace osora::protocol {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kHour = 3'600'000'000;

TEST(NodeMemory, TwoFaultsInADayExcludeUntilTheyFade) {
    NodeMemory memory = with_fault({}, "n3", 1, "killed by signal 9", 0);
    EXPECT_THAT(bad_hosts(memory, 0), IsEmpty());
    memory = with_fault(memory, "n3", 1, "fell silent", 2 * kHour);
    memory = with_fault(memory, "n5", 1, "fell silent", 2 * kHour);
    EXPECT_THAT(bad_hosts(memory, 2 * kHour), ElementsAre("n3"));
    EXPECT_NEAR(score_at(memory.nodes[0], 26 * kHour), 0.972, 0.001);  // (1 + 2^(-2/24)) / 2
    EXPECT_THAT(bad_hosts(memory, 26 * kHour), IsEmpty());
    EXPECT_EQ(memory.nodes[0].cause, "fell silent");
    // A week later only the new fault is remembered.
    memory = with_fault(memory, "n7", 1, "x", 24 * 7 * kHour);
    EXPECT_THAT(memory.nodes, SizeIs(1));
}

TEST(NodeMemory, SaysUntilWhenANodeIsLeftOut) {
    NodeMemory memory = with_fault({}, "n3", 1, "x", 10 * kHour);
    EXPECT_EQ(excluded_until_us(memory.nodes[0]), 0);
    memory = with_fault(memory, "n3", 2, "x", 10 * kHour);
    auto const until_us = excluded_until_us(memory.nodes[0]);
    EXPECT_NEAR(static_cast<double>(until_us), 34.0 * kHour, 1e6);  // 3 halves once in 24 h
    EXPECT_THAT(bad_hosts(memory, until_us - 2'000'000), ElementsAre("n3"));
    EXPECT_THAT(bad_hosts(memory, until_us + 2'000'000), IsEmpty());
    EXPECT_EQ(excluded_until_us({"n3", std::nan(""), 5, ""}), 0);
    EXPECT_GT(excluded_until_us({"n3", 1e300, INT64_MAX, ""}), 0);
}

TEST(NodeMemory, ClocksThatJumpBackChangeNothing) {
    NodeMemory memory = with_fault({}, "n3", 1, "x", 100 * kHour);
    memory = with_fault(memory, "n3", 1, "x", 10 * kHour);
    EXPECT_THAT(bad_hosts(memory, 10 * kHour), ElementsAre("n3"));
    EXPECT_EQ(memory.nodes[0].updated_us, 100 * kHour);
}

TEST(NodeMemory, NeverAWholeCluster) {
    NodeMemory memory;
    for (int i = 0; i < 80; ++i) {
        memory = with_fault(memory, "n" + std::to_string(i), 1, "x", 0);
        memory = with_fault(memory, "n" + std::to_string(i), 1, "x", 0);
    }
    memory = with_fault(memory, "n79", 1, "x", 0);
    EXPECT_THAT(bad_hosts(memory, 0), SizeIs(kExcludedMax));
    EXPECT_EQ(bad_hosts(memory, 0).front(), "n79");
}

}  // namespace
}  // namespace osora::protocol
