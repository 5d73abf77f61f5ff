#include "plan/buckets/cached_share.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace osora::plan {
namespace {

BucketTable kept(double large, double image) {
    return BucketTable::make({{.resolution = "64", .num_frames = 8, .keep_prob = large},
                              {.resolution = "48", .num_frames = 5},
                              {.resolution = "64", .num_frames = 1, .keep_prob = image}},
                             {.images_from_videos = true})
        .value();
}

/// What a cache has of clips of several sizes that were encoded with these.
std::vector<CachedShare> encoded(BucketTable const& table) {
    std::vector<ClipShape> const clips{{9, 64, 64}, {8, 640, 360}, {6, 64, 64},
                                       {1, 64, 64}, {5, 48, 48},   {3, 100, 100}};
    BucketSet const filled = fill_buckets(table, clips);
    std::vector<CachedShare> cached;
    for (Bucket const& bucket : filled.buckets) {
        std::string const resolution = bucket.entry == 1 ? "48" : "64";
        for (float const share : bucket.shares)
            cached.push_back({resolution, bucket.key.num_frames, share});
    }
    return cached;
}

std::string problem(BucketTable const& table, std::vector<CachedShare> const& cached) {
    auto const checked = check_cached_shares(table, cached);
    return checked.has_error() ? checked.error().message : "none";
}

TEST(CachedShare, IsThatOfTheEncodeRun) {
    auto const cached = encoded(kept(0.6, 0.3));
    ASSERT_GE(cached.size(), 9u);
    EXPECT_EQ(problem(kept(0.6, 0.3), cached), "none");
    EXPECT_EQ(problem(kept(1, 1), cached), "none");  // as the cache has them
    EXPECT_THAT(problem(kept(0.5, 0.3), cached),
                testing::HasSubstr("bucket 64 x 8: clips of the cache have a share of 0.6 in it, "
                                   "which keep_prob = 0.5 gives to none"));
    EXPECT_THAT(problem(kept(0.6, 0.2), cached), testing::HasSubstr("bucket 64 x 1: "));
    // Nothing of that bucket is in the cache.
    EXPECT_EQ(problem(kept(0.5, 1), {{"48", 5, 1}, {"32", 8, 0.1}}), "none");
}

// A large clip leaves 0.4 to the second bucket, a small one comes to it first.
TEST(CachedShare, CountsWhatOtherBucketsLeave) {
    auto const table = [](double small) {
        return BucketTable::make({{.resolution = "64", .num_frames = 8, .keep_prob = 0.6},
                                  {.resolution = "48", .num_frames = 5, .keep_prob = small}})
            .value();
    };
    for (double const share : {0.4 * 0.5, 0.5})
        EXPECT_EQ(problem(table(0.5), {{"48", 5, share}}), "none") << share;
    EXPECT_NE(problem(table(0.5), {{"48", 5, 0.6 * 0.5}}), "none");
}

}  // namespace
}  // namespace osora::plan
