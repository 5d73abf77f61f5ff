// One pass over given clips.
#include "plan/buckets/one_pass.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

BucketSet two_buckets() {
    BucketSet set;
    Bucket first;
    first.entry = 1;
    first.key = {.height = 64, .width = 64, .num_frames = 8};
    first.clips = {1, 4, 7};
    first.shares = {1, 1, 1};
    Bucket second = first;
    second.entry = 0;
    second.key.height = 48;
    set.buckets = {first, second};
    return set;
}

TEST(OnePass, GivesTheClipsOfEachStepInOrder) {
    auto const schedule = OnePassSchedule::make(two_buckets(), {{1, {4, 1}}, {0, {7}}}, 5);
    ASSERT_TRUE(schedule.has_value());
    EXPECT_EQ(schedule->steps(), 2u);
    auto const refs = schedule->rank_samples(0, 0, 1);
    ASSERT_EQ(refs.size(), 2u);
    EXPECT_EQ(refs[0].clip, 4u);
    EXPECT_EQ(refs[1].clip, 1u);
    EXPECT_EQ(schedule->bucket_of(0, 0), 1u);
    EXPECT_EQ(schedule->bucket_of(1, 0), 0u);
    // The loader makes room for the largest step of each entry of the run file.
    EXPECT_EQ(schedule->global_batch_size(1), 2);
    EXPECT_EQ(schedule->global_batch_size(0), 1);
}

TEST(OnePass, AClipsRandomNumberDoesNotDependOnItsStep) {
    auto const numbers = [](std::vector<OnePassStep> steps, std::uint64_t seed) {
        auto const schedule = OnePassSchedule::make(two_buckets(), std::move(steps), seed);
        return schedule->rank_samples(0, 0, 1)[0].random;
    };
    auto const alone = numbers({{0, {4}}}, 5);
    EXPECT_EQ(numbers({{0, {4, 7}}, {0, {1}}}, 5), alone);
    EXPECT_NE(numbers({{1, {4}}}, 5), alone);  // another bucket
    EXPECT_NE(numbers({{0, {1}}}, 5), alone);  // another clip
    EXPECT_NE(numbers({{0, {4}}}, 6), alone);  // another seed
}

}  // namespace
}  // namespace osora::plan
