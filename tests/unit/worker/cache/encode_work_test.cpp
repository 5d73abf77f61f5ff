// How clips and captions are divided into shards.
#include "worker/cache/encode_work.hpp"

#include "protocol/cache_index.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace osora::worker {
namespace {

plan::Bucket bucket(std::vector<std::uint32_t> clips, std::vector<float> shares) {
    plan::Bucket made;
    made.clips = std::move(clips);
    made.shares = std::move(shares);
    return made;
}

TEST(EncodeWork, EveryClipOfABucketIsInOneShardWithItsShare) {
    plan::BucketSet set;
    std::vector<std::uint32_t> clips;
    std::vector<float> shares;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        clips.push_back(2 * i);
        shares.push_back(i % 3 == 0 ? 0.25f : 1.0f);
    }
    set.buckets = {bucket(clips, shares), bucket({4, 6}, {1, 1})};
    std::vector<std::int64_t> const bytes{100, 1};
    auto const work = latent_work(set, bytes, 1000);
    std::set<std::pair<std::size_t, std::uint32_t>> seen;
    for (auto const& shard : work) {
        EXPECT_LE(shard.clips.size(), 10u);  // 1000 bytes
        EXPECT_TRUE(std::ranges::is_sorted(shard.clips));
        for (auto const clip : shard.clips) {
            EXPECT_TRUE(seen.insert({shard.bucket, clip}).second) << clip;
            bool const smaller = shard.bucket == 0 && clip / 2 % 3 == 0;
            EXPECT_EQ(shard.share, smaller ? 0.25f : 1.0f);
        }
    }
    EXPECT_EQ(seen.size(), 1002u);
}

TEST(EncodeWork, SmallSetsStillDivide) {
    plan::BucketSet set;
    std::vector<std::uint32_t> clips(128);
    for (std::uint32_t i = 0; i < 128; ++i) clips[i] = i;
    set.buckets = {bucket(clips, std::vector<float>(128, 1.0f))};
    std::vector<std::int64_t> const bytes{1};
    EXPECT_EQ(latent_work(set, bytes, 1 << 30).size(), 64u);
    EXPECT_TRUE(latent_work({}, {}, 1 << 30).empty());
}

TEST(EncodeWork, ATextIsEncodedOnceHoweverManyClipsHaveIt) {
    std::vector<std::string_view> const texts{"b", "a", "b", "", "unused", "a"};
    std::vector<std::uint32_t> const used{0, 1, 2, 3, 5};
    auto const shards = caption_work(texts, used, {.bytes = 1 << 20, .entry_bytes = 1});
    std::vector<std::int64_t> hashes;
    std::set<std::uint32_t> clips;
    for (auto const& shard : shards) {
        for (auto const& caption : shard) {
            hashes.push_back(caption.hash);
            clips.insert(caption.clip);
            EXPECT_EQ(caption.hash, protocol::caption_hash(texts[caption.clip]));
        }
    }
    EXPECT_TRUE(std::ranges::is_sorted(hashes));
    EXPECT_EQ(clips, (std::set<std::uint32_t>{0, 1, 3}));
}

}  // namespace
}  // namespace osora::worker
