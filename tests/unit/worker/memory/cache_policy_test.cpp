#include "worker/memory/cache_policy.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

constexpr std::int64_t kGiB = 1 << 30;

/// 80 GiB, of which 10 hold weights.
CacheState after(std::int64_t reserved_gib) {
    return {10 * kGiB, reserved_gib * kGiB, 80 * kGiB};
}

TEST(CachePolicy, EmptiesWhenAnotherBucketDoesNotFitBesideTheFreeBlocks) {
    CachePolicy policy;
    EXPECT_FALSE(policy.should_empty("large", 60 * kGiB, after(10), 0)) << "the first step";
    EXPECT_FALSE(policy.should_empty("large", 60 * kGiB, after(60), 1)) << "its own blocks serve";
    EXPECT_FALSE(policy.should_empty("small", 20 * kGiB, after(60), 2)) << "70 of 73.6 GiB";
    EXPECT_TRUE(policy.should_empty("large", 60 * kGiB, after(60), 3)) << "110 of 73.6 GiB";
    EXPECT_FALSE(policy.should_empty("large", 60 * kGiB, after(60), 4)) << "no other bucket";
}

TEST(CachePolicy, TakesATwoThousandthOfTheTime) {
    CachePolicy policy;
    EXPECT_FALSE(policy.should_empty("a", 60 * kGiB, after(60), 0));
    int times = 0;
    double now_s = 0;
    for (int step = 0; step < 10'000; ++step) {
        now_s += 0.5;
        if (!policy.should_empty(step % 2 == 0 ? "b" : "a", 60 * kGiB, after(60), now_s)) continue;
        ++times;
        now_s += 0.05;
        policy.emptied(50 * kGiB, 0.05);
    }
    EXPECT_EQ(policy.times(), times);
    EXPECT_EQ(policy.bytes(), times * 50 * kGiB);
    EXPECT_GT(times, 150);
    EXPECT_LT(policy.seconds(), 0.002 * now_s + 0.05);
}

TEST(CachePolicy, LeavesWhatItDoesNotKnow) {
    CachePolicy policy;
    EXPECT_FALSE(policy.should_empty("a", 60 * kGiB, after(60), 0));
    EXPECT_FALSE(policy.should_empty("b", 0, after(60), 1)) << "no prediction";
    EXPECT_FALSE(policy.should_empty("a", 60 * kGiB, {}, 2)) << "a CPU";
}

}  // namespace
}  // namespace osora::worker
