#include "plan/tune/tune_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace osora::plan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

/// Step time of a machine where buckets of 50 MiB save a tenth and overlap nothing.
double step_s(TuneSettings const& settings) {
    double time = 1;
    auto const bucket = settings.find("parallel.grad_bucket_mib");
    if (bucket != settings.end()) time *= bucket->second == "50" ? 0.9 : 1.05;
    auto const sockets = settings.find("nccl.NCCL_NSOCKS_PERTHREAD");
    if (sockets != settings.end()) time *= settings.contains("nccl.NCCL_SOCKET_NTHREADS") ? 0.8 : 9;
    return time;
}

std::vector<TuneCandidate> candidates() {
    return {{.key = "parallel.grad_bucket_mib", .values = {"10", "50"}, .reason = ""},
            {.key = "parallel.overlap", .values = {"false"}, .reason = ""},
            {.key = "nccl.NCCL_NSOCKS_PERTHREAD",
             .values = {"4"},
             .with = {{"nccl.NCCL_SOCKET_NTHREADS", "4"}},
             .reason = ""}};
}

TuneSearch searched(double noise, std::uint64_t seed, int trials_max = 200) {
    TuneSearch search(candidates(), {}, trials_max);
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, noise);
    while (auto const trial = search.next()) {
        search.add(step_s(trial->settings) * (1 + normal(random)));
    }
    return search;
}

TEST(TuneSearch, keeps_what_helps_and_nothing_else) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        auto const search = searched(0.005, seed);
        EXPECT_THAT(search.kept(), ElementsAre(Pair("nccl.NCCL_NSOCKS_PERTHREAD", "4"),
                                               Pair("nccl.NCCL_SOCKET_NTHREADS", "4"),
                                               Pair("parallel.grad_bucket_mib", "50")))
            << seed;
        EXPECT_THAT(search.verdicts(), SizeIs(4));
    }
}

TEST(TuneSearch, trials_of_a_pair_alternate_who_comes_first) {
    TuneSearch search(candidates(), {}, 200);
    std::vector<bool> changes;
    for (int trial = 0; trial < 4; ++trial) {
        changes.push_back(search.next()->with_change);
        search.add(1);
    }
    EXPECT_THAT(changes, ElementsAre(false, true, true, false));
}

TEST(TuneSearch, stops_at_its_budget) {
    auto const search = searched(0.005, 1, 7);
    EXPECT_EQ(search.trials(), 7);
    EXPECT_FALSE(search.next().has_value());
}

TEST(TuneSearch, a_value_that_does_not_run_is_not_kept_and_the_search_goes_on) {
    TuneSearch search(candidates(), {}, 200);
    search.add(1);
    ASSERT_TRUE(search.next()->with_change);
    search.add_failure("NCCL: invalid usage");
    ASSERT_THAT(search.verdicts(), SizeIs(1));
    EXPECT_EQ(search.verdicts()[0].failure, "NCCL: invalid usage");
    EXPECT_FALSE(search.verdicts()[0].kept);
    EXPECT_EQ(search.next()->value, "50");
}

TEST(TuneSearch, a_run_that_fails_as_it_is_ends_the_search) {
    TuneSearch search(candidates(), {}, 200);
    search.add_failure("no such host");
    EXPECT_FALSE(search.next().has_value());
    EXPECT_EQ(search.failure(), "no such host");
}

TEST(TuneSearch, nothing_to_try_is_over_at_once) {
    TuneSearch search({{.key = "a", .values = {}, .reason = ""}}, {}, 10);
    EXPECT_FALSE(search.next().has_value());
    search.add(1);
    EXPECT_THAT(search.verdicts(), IsEmpty());
}

}  // namespace
}  // namespace osora::plan
