// Ranks as threads: every collective over all of them; what does not fit into the time is named.
#include "worker/jobs/rehearse/collective_probe.hpp"

#include "tests/unit/worker/parallel/ranks.hpp"

#include <gtest/gtest.h>

#include <mutex>

namespace osora::worker {
namespace {

topology::CollectiveTimes probe(int ranks, plan::CollectiveRequest const& request,
                                int ranks_per_node = 1) {
    topology::CollectiveTimes answer;
    std::mutex writing;
    run_ranks(ranks, [&](Group const& group) {
        auto const mine =
            probe_collectives(request, group, Device(), ranks_per_node, [] { return false; });
        ASSERT_TRUE(mine.has_value()) << mine.error().message;
        std::scoped_lock const lock(writing);
        if (group.rank() == 0)
            answer = *mine;
        else
            EXPECT_TRUE(mine->samples.empty());
    });
    return answer;
}

// Groups are split only in separate processes (tests/e2e_worker): LibTorch's split does not work
// for ranks that are threads.
TEST(CollectiveProbe, MeasuresEachCollective) {
    plan::CollectiveRequest request;
    request.collectives = {"all_reduce", "all_gather", "reduce_scatter",
                           "all_to_all", "broadcast",  "send_recv"};
    request.sizes_bytes = {1, 100'000};
    request.iterations_max = 6;
    request.time_limit_s = 600;
    auto const answer = probe(3, request, 2);
    EXPECT_TRUE(answer.left_out.empty());
    ASSERT_EQ(answer.samples.size(), 6u * 2);
    for (auto const& each : answer.samples) {
        EXPECT_EQ(each.backend, "gloo");
        EXPECT_EQ(each.ranks, 3);
        EXPECT_EQ(each.nodes, 2);
        EXPECT_GT(each.time_us, 0) << each.collective;
        EXPECT_GE(each.size_bytes, 4);
        EXPECT_EQ(each.size_bytes % 4, 0);
    }
    EXPECT_EQ(answer.samples[2].collective, "all_gather");
    EXPECT_EQ(answer.samples[2].size_bytes, 12);  // a number a rank
}

TEST(CollectiveProbe, WhatDoesNotFitIntoTheTimeIsNamed) {
    plan::CollectiveRequest request;
    request.collectives = {"all_reduce"};
    request.sizes_bytes = {1 << 20, 1 << 21, 1 << 22};
    request.time_limit_s = 1e-6;
    auto const answer = probe(2, request);
    EXPECT_LT(answer.samples.size(), 3u);
    ASSERT_FALSE(answer.left_out.empty());
    EXPECT_EQ(answer.left_out.back(), "world: all_reduce 4194304 B");
    EXPECT_EQ(answer.samples.size() + answer.left_out.size(), 3u);
}

TEST(CollectiveProbe, AStopRequestToOneRankEndsItForAll) {
    plan::CollectiveRequest request;
    request.collectives = {"all_reduce", "broadcast"};
    request.sizes_bytes = {1024, 4096};
    std::mutex writing;
    std::vector<topology::CollectiveTimes> answers;
    run_ranks(3, [&](Group const& group) {
        int asked = 0;
        // Rank 1 gets the stop request during the first size.
        auto const stopped = [&] { return group.rank() == 1 && ++asked > 2; };
        auto const mine = probe_collectives(request, group, Device(), 1, stopped);
        ASSERT_TRUE(mine.has_value()) << mine.error().message;
        std::scoped_lock const lock(writing);
        if (group.rank() == 0) answers.push_back(*mine);
    });
    ASSERT_EQ(answers.size(), 1u);
    ASSERT_EQ(answers[0].samples.size(), 1u) << "what was measured by then";
    EXPECT_EQ(answers[0].samples[0].size_bytes, 1024);
    EXPECT_TRUE(answers[0].left_out.empty());
}

TEST(CollectiveProbe, APeerThatIsGoneIsAnError) {
    run_ranks(2, [](Group const& group) {
        if (group.rank() == 1) return;
        plan::CollectiveRequest request;
        request.collectives = {"all_reduce"};
        auto const failed = probe_collectives(request, group, Device(), 1, [] { return false; });
        ASSERT_TRUE(failed.has_error());
        EXPECT_EQ(failed.error().code, Errc::unreachable);
    });
}

}  // namespace
}  // namespace osora::worker
