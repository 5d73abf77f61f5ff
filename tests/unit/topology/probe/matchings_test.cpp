#include "topology/probe/matchings.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace osora::topology {
namespace {

TEST(Circle, every_pair_once_and_every_round_disjoint) {
    for (int count : {0, 1, 2, 3, 4, 5, 8, 9, 31, 64, 65}) {
        std::set<NodePair> seen;
        for (int round = 0; round < circle_rounds(count); ++round) {
            std::set<int> busy;
            auto const pairs = circle_round(count, round);
            EXPECT_EQ(pairs.size(), static_cast<std::size_t>(count / 2)) << count;
            for (auto const& [a, b] : pairs) {
                EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second) << count;
                EXPECT_TRUE(seen.insert(std::minmax(a, b)).second) << count;
                EXPECT_TRUE(std::min(a, b) >= 0 && std::max(a, b) < count);
            }
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(count * std::max(0, count - 1) / 2));
    }
}

TEST(RandomMatchings, are_disjoint_do_not_repeat_a_pair_and_follow_the_seed) {
    std::vector<int> nodes(101);
    std::iota(nodes.begin(), nodes.end(), 1000);
    auto const rounds = random_matchings(nodes, 5, 7);
    ASSERT_EQ(rounds.size(), 5u);
    std::set<NodePair> seen;
    std::set<int> rested;
    for (auto const& pairs : rounds) {
        std::set<int> busy;
        for (auto const& [a, b] : pairs) {
            EXPECT_TRUE(busy.insert(a).second && busy.insert(b).second);
            EXPECT_TRUE(seen.insert(std::minmax(a, b)).second);
        }
        EXPECT_EQ(busy.size(), 100u);
        for (int const node : nodes) {
            if (!busy.contains(node)) rested.insert(node);
        }
    }
    EXPECT_EQ(rested.size(), 5u);  // a different one each time
    EXPECT_EQ(random_matchings(nodes, 5, 7), rounds);
    EXPECT_NE(random_matchings(nodes, 5, 8), rounds);
    EXPECT_EQ(random_matchings({4, 5, 6}, 99, 1).size(), 3u);  // all there are
    EXPECT_TRUE(random_matchings({4}, 5, 1).empty());
}

TEST(GroupedMatchings, stay_inside_their_group) {
    auto const rounds = grouped_matchings({{0, 1, 2, 3}, {4, 5}, {6}}, 3, 1);
    ASSERT_EQ(rounds.size(), 3u);
    EXPECT_EQ(rounds[0].size(), 3u);
    EXPECT_EQ(rounds[1].size(), 2u);  // the group of two has one round
    for (auto const& pairs : rounds) {
        for (auto const& [a, b] : pairs) EXPECT_EQ(a < 4, b < 4);
    }
}

}  // namespace
}  // namespace osora::topology
