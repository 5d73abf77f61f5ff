#include "plan/layout/rank_map.hpp"

#include "plan/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace osora::plan {
namespace {

using ::testing::ElementsAre;

LayoutPlan sized(int tp, int sp, int dp, int pp) {
    LayoutPlan layout;
    layout.tp_size = tp;
    layout.sp_size = sp;
    layout.dp_size = dp;
    layout.pp_size = pp;
    return layout;
}

// The picture of docs/rfc/025: eight ranks, tp 2, sp 2, dp 2.
TEST(RankMap, IsThatOfTheDocument) {
    auto const map = rank_map(sized(2, 2, 2, 1), 4);
    ASSERT_EQ(map.size(), 3u);
    EXPECT_EQ(map[0].name, "tp");
    EXPECT_THAT(ranks_of(map[0], 1), ElementsAre(2, 3));
    EXPECT_EQ(map[1].name, "sp");
    EXPECT_THAT(ranks_of(map[1], 0), ElementsAre(0, 2));
    EXPECT_THAT(ranks_of(map[1], 1), ElementsAre(1, 3));
    EXPECT_THAT(ranks_of(map[1], 2), ElementsAre(4, 6));
    EXPECT_THAT(ranks_of(map[1], 3), ElementsAre(5, 7));
    EXPECT_EQ(map[1].nodes, 1);
    EXPECT_EQ(map[2].name, "dp");
    EXPECT_THAT(ranks_of(map[2], 3), ElementsAre(3, 7));
    EXPECT_EQ(map[2].nodes, 2);
    EXPECT_EQ(map[2].at_once, 4) << "four groups use the links between the two nodes";
    EXPECT_TRUE(rank_map(sized(1, 1, 1, 1), 1).empty());
}

// Two nodes with a copy each of what ZeRO divides.
TEST(RankMap, CopiesAreOnNodes) {
    LayoutPlan layout = sized(1, 1, 8, 1);
    layout.shard_size = 4;
    auto const map = rank_map(layout, 4);
    ASSERT_EQ(map.size(), 3u);
    EXPECT_EQ(map[1].name, "shards");
    EXPECT_THAT(ranks_of(map[1], 1), ElementsAre(4, 5, 6, 7));
    EXPECT_EQ(map[1].nodes, 1);
    EXPECT_EQ(map[2].name, "copies");
    EXPECT_THAT(ranks_of(map[2], 1), ElementsAre(1, 5));
    EXPECT_EQ(map[2].nodes, 2);
}

// Each rank is in exactly one group of each kind.
TEST(RankMap, GroupsOfAKindPartitionTheRanks) {
    for (int const tp : {1, 2, 4})
        for (int const sp : {1, 3})
            for (int const dp : {1, 2, 5})
                for (int const pp : {1, 2, 4}) {
                    LayoutPlan const layout = sized(tp, sp, dp, pp);
                    for (RankGroups const& kind : rank_map(layout, 8)) {
                        std::multiset<int> seen;
                        for (int i = 0; i < kind.groups; ++i) {
                            for (int const rank : ranks_of(kind, i)) seen.insert(rank);
                        }
                        std::multiset<int> all;
                        for (int rank = 0; rank < layout.ranks(); ++rank) all.insert(rank);
                        EXPECT_EQ(seen, all) << kind.name << " of " << layout.ranks();
                    }
                }
}

}  // namespace
}  // namespace osora::plan
