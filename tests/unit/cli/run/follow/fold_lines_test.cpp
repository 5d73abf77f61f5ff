#include "cli/run/follow/fold_lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace osora::cli {
namespace {

using Lines = std::vector<std::vector<std::string>>;

std::vector<std::string> folded(Lines const& by_rank) {
    LineFolder folder(static_cast<int>(by_rank.size()));
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        for (auto const& line : by_rank[rank]) folder.add(static_cast<int>(rank), line);
    }
    std::vector<std::string> shown;
    for (FoldedLine line; folder.next(line);) {
        shown.push_back(rank_list(line.ranks) + ": " + line.text);
    }
    return shown;
}

TEST(FoldLines, IdenticalLinesAreShownOnce) {
    EXPECT_THAT(folded({{"a", "b"}, {"a", "b"}, {"a", "b"}}),
                testing::ElementsAre("0-2: a", "0-2: b"));
}

TEST(FoldLines, ALineOfOneRankDoesNotSplitTheOthers) {
    EXPECT_THAT(folded({{"only me", "a", "b"}, {"a", "b"}, {"a", "x", "b"}}),
                testing::ElementsAre("0: only me", "0-2: a", "2: x", "0-2: b"));
}

TEST(FoldLines, RepeatedLinesKeepTheirCount) {
    EXPECT_THAT(folded({{"a", "a"}, {"a"}}), testing::ElementsAre("0-1: a", "0: a"));
}

TEST(FoldLines, ContradictingOrdersAreStillShownWhole) {
    EXPECT_THAT(folded({{"a", "b"}, {"b", "a"}, {"b", "a"}}),
                testing::ElementsAre("1-2: b", "0-2: a", "0: b"));
}

TEST(FoldLines, Ranges) {
    EXPECT_EQ(rank_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
    EXPECT_EQ(rank_list({3}), "3");
}

TEST(FoldLines, BoundsWindowAndLine) {
    LineFolder folder(1);
    for (std::size_t i = 0; i < LineFolder::kWindow; ++i) {
        ASSERT_FALSE(folder.is_full(0));
        folder.add(0, "x");
    }
    EXPECT_TRUE(folder.is_full(0));
    LineFolder long_lines(1);
    long_lines.add(0, std::string(1 << 20, 'y'));
    FoldedLine line;
    ASSERT_TRUE(long_lines.next(line));
    EXPECT_EQ(line.text.size(), LineFolder::kLineBytesMax + 3);
}

// Whatever the input: unfolding what is shown gives each rank's lines, all of them, in order.
TEST(FoldLines, UnfoldsToTheInputForRandomLogs) {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
        Lines input(1 + random() % 5);
        for (auto& lines : input) {
            lines.resize(random() % 12);
            for (auto& line : lines) line = std::string(1, static_cast<char>('a' + random() % 6));
        }
        LineFolder folder(static_cast<int>(input.size()));
        for (std::size_t rank = 0; rank < input.size(); ++rank) {
            for (auto const& line : input[rank]) folder.add(static_cast<int>(rank), line);
        }
        Lines output(input.size());
        for (FoldedLine line; folder.next(line);) {
            for (int const rank : line.ranks) {
                output[static_cast<std::size_t>(rank)].push_back(line.text);
            }
        }
        EXPECT_EQ(output, input) << "round " << round;
    }
}

}  // namespace
}  // namespace osora::cli
