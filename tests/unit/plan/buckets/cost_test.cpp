// FLOPs and batches against the figures that Open-Sora's authors found on their machines.
#include "plan/buckets/cost.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace osora::plan {
namespace {

TEST(Cost, LatentFramesAsTheVaeChunksThem) {
    DitSizes const sizes;
    for (auto [frames, latents] : {std::pair{1, 1},
                                   {17, 5},
                                   {22, 7},
                                   {34, 10},
                                   {51, 15},
                                   {102, 30},
                                   {204, 60},
                                   {408, 120}}) {
        EXPECT_EQ(latent_frames(sizes, frames), latents) << frames;
    }
    EXPECT_EQ(latent_frames({.temporal_compression = 1, .temporal_chunk = 0}, 8), 8);
}

TEST(Cost, FlopsOfA360pClipOf102Frames) {
    BucketKey const key{.height = 360, .width = 640, .num_frames = 102};
    TokenGrid const grid = token_grid({}, key);
    EXPECT_EQ(grid.frames * grid.per_frame, 27'600);
    EXPECT_NEAR(forward_flops({}, key) / 1e12, 63.0, 0.5);
}

// configs/opensora-v1-2/train/stage1.py: batch sizes that its authors searched for equal step time.
TEST(Cost, BatchesAgreeWithOpenSorasSearch) {
    struct Found {
        BucketKey key;
        std::int64_t batch;
    };
    // Without 256 x 256, where the published batches use only 0.5-0.7 of the others' FLOPs.
    std::vector<Found> const found{
        {{144, 256, 102}, 27}, {{144, 256, 51}, 51},  {{144, 256, 204}, 13}, {{144, 256, 408}, 6},
        {{240, 426, 51}, 20},  {{240, 426, 102}, 10}, {{240, 426, 204}, 5},  {{240, 426, 408}, 2},
        {{360, 640, 51}, 8},   {{360, 640, 102}, 4},  {{360, 640, 204}, 2},  {{360, 640, 408}, 1}};
    std::vector<BucketKey> keys;
    for (Found const& f : found) keys.push_back(f.key);
    // x 8 so that rounding does not hide the cost.
    auto const batches = *equal_cost_batches(keys, {}, {.global_batch_size = 27 * 8});
    for (std::size_t i = 0; i < found.size(); ++i) {
        double const ratio =
            static_cast<double>(batches[i]) / (8.0 * static_cast<double>(found[i].batch));
        EXPECT_NEAR(ratio, 1.0, 0.2) << "bucket " << i << ": " << batches[i];
    }
}

TEST(Cost, BatchesAreMultiplesAndRefuseOtherwise) {
    std::vector<BucketKey> const keys{{64, 64, 8}, {48, 48, 4}, {64, 64, 1}};
    DitSizes const tiny{.hidden = 64,
                        .depth = 2,
                        .text_tokens = 4,
                        .spatial_compression = 1,
                        .temporal_compression = 1,
                        .temporal_chunk = 0};
    auto const batches =
        *equal_cost_batches(keys, tiny, {.global_batch_size = 8, .multiple = 4, .dp_size = 2});
    EXPECT_EQ(batches[0], 8);
    for (std::int64_t batch : batches) EXPECT_EQ(batch % 4, 0);
    EXPECT_GT(batches[1], batches[0]);
    // Independent of dp_size where `multiple` covers it.
    EXPECT_EQ(batches, *equal_cost_batches(keys, tiny, {8, 4, 1}));
    EXPECT_EQ(batches, *equal_cost_batches(keys, tiny, {8, 4, 4}));
    auto const refused = equal_cost_batches(keys, tiny, {9, 4, 3});
    EXPECT_EQ(refused.error().code, Errc::not_divisible);
    EXPECT_NE(refused.error().message.find("nearest valid: 12"), std::string::npos);
    EXPECT_NE(equal_cost_batches(keys, tiny, {9, 4, 1}).error().message.find("valid: 8, 12"),
              std::string::npos);
    EXPECT_TRUE(equal_cost_batches(keys, tiny, {0, 1, 1}).has_error());
    EXPECT_TRUE(equal_cost_batches({}, tiny, {8, 1, 1}).has_error());
}

}  // namespace
}  // namespace osora::plan
