#include "worker/parallel/stop_vote.hpp"

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <future>

namespace osora::worker {
namespace {

/// The decisions of `votes.size()` ranks, threads of this process, in one step.
std::vector<Vote> decide(std::vector<Vote> const& votes) {
    allow_ranks_as_threads();
    auto const store = c10::make_intrusive<c10d::HashStore>();
    std::vector<std::future<Vote>> ranks;
    for (std::size_t rank = 0; rank < votes.size(); ++rank) {
        ranks.push_back(std::async(std::launch::async, [&, rank] {
            GroupConfig config;
            config.rank = static_cast<int>(rank);
            config.world_size = static_cast<int>(votes.size());
            StopVote vote(*join_gloo_group(store, config));
            vote.begin(votes[rank]);
            auto const decision = *vote.finish();
            auto const cost = vote.cost();
            EXPECT_TRUE(cost.has_value());
            if (!cost) return decision;
            EXPECT_EQ(cost->name, "stop vote");
            EXPECT_EQ(cost->calls, 1);
            EXPECT_EQ(cost->bytes, 4);
            EXPECT_EQ(cost->ranks, static_cast<int>(votes.size()));
            EXPECT_GT(cost->seconds, 0);
            return decision;
        }));
    }
    std::vector<Vote> decisions;
    for (auto& rank : ranks) decisions.push_back(rank.get());
    return decisions;
}

TEST(StopVote, TheHeaviestVoteIsTheDecisionOfAll) {
    using enum Vote;
    EXPECT_EQ(decide({go_on, go_on, go_on}), (std::vector{go_on, go_on, go_on}));
    EXPECT_EQ(decide({go_on, stop_with_checkpoint}),
              (std::vector{stop_with_checkpoint, stop_with_checkpoint}));
    EXPECT_EQ(decide({stop_without_checkpoint, go_on, stop_with_checkpoint}),
              (std::vector(3, stop_with_checkpoint)));
}

TEST(StopVote, AloneTheOwnVoteDecides) {
    StopVote vote{std::nullopt};
    vote.begin(Vote::stop_without_checkpoint);
    EXPECT_EQ(*vote.finish(), Vote::stop_without_checkpoint);
    EXPECT_FALSE(vote.cost().has_value());
}

}  // namespace
}  // namespace osora::worker
