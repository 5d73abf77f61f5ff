#include "worker/parallel/stop_vote.hpp"

#include "tests/unit/worker/parallel/ranks.hpp"

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
            EXPECT_EQ(cost->bytes, 56);
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

TEST(StopVote, RanksThatDoNotAgreeOnTheStepAreNamed) {
    std::vector<std::string> reported(3);
    run_ranks(3, [&](Group const& group) {
        auto const rank = static_cast<std::size_t>(group.rank());
        StopVote vote(group);
        StepTerms terms{.step = 7, .bucket = "64x64x8", .passes = 2};
        vote.begin(Vote::go_on, terms);
        EXPECT_TRUE(vote.finish().has_value());
        if (rank == 2) terms.bucket = "96x64x8";
        vote.begin(Vote::go_on, terms);
        for (int i = 0; i < 2; ++i) {  // the second time without a collective
            auto const said = vote.finish();
            ASSERT_TRUE(said.has_error());
            EXPECT_EQ(said.error().code, Errc::invalid_input);
            reported[rank] = said.error().message;
        }
    });
    for (std::string const& each : reported)
        EXPECT_EQ(each,
                  "ranks do not agree on the step: ranks 0-1 do step 7 with bucket 64x64x8 in 2 "
                  "passes; rank 2 does step 7 with bucket 96x64x8 in 2 passes");
}

TEST(StopVote, RanksOfOneShareThatReadOtherClipsEndTheAttempt) {
    std::vector<std::string> reported(4);
    run_ranks(4, [&](Group const& group) {
        auto const rank = static_cast<std::size_t>(group.rank());
        StopVote vote(group);
        SharedClips clips{.share = group.rank() / 2, .shares = 2};
        clips.hash = clips.share == 0 ? 0x123456789ABCDEFull : 0xFEDCBA987654321ull;
        vote.begin(Vote::go_on, {.step = 6, .bucket = "b", .passes = 1}, clips);
        EXPECT_TRUE(vote.finish().has_value());
        EXPECT_EQ(vote.cost()->bytes, 7 * 8 + 2 * 2 * 8);
        if (rank == 3) clips.hash ^= 1ull << 40;
        vote.begin(Vote::go_on, {.step = 7, .bucket = "b", .passes = 1}, clips);
        auto const said = vote.finish();
        ASSERT_TRUE(said.has_error());
        EXPECT_EQ(said.error().code, Errc::unreachable);
        reported[rank] = said.error().message;
    });
    for (std::string const& each : reported)
        EXPECT_EQ(each.rfind("step 7: ranks that share the samples of data-parallel rank 1 read "
                             "different clips: ",
                             0),
                  0u)
            << each;
}

TEST(StopVote, AloneTheOwnVoteDecides) {
    StopVote vote{std::nullopt};
    vote.begin(Vote::stop_without_checkpoint);
    EXPECT_EQ(*vote.finish(), Vote::stop_without_checkpoint);
    EXPECT_FALSE(vote.cost().has_value());
}

}  // namespace
}  // namespace osora::worker
