// Damaged indices of caches: what is read keeps every limit, the rest is refused with a message.
// OSORA_FUZZ_ROUNDS is small in the gate, large in the soak tier.
#include "protocol/cache_index.hpp"
#include "protocol/json.hpp"
#include "tests/fuzz/mutate.hpp"
#include "tests/kit/size.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace osora::fuzz {
namespace {

int const kRounds = tests::test_size("OSORA_FUZZ_ROUNDS", 20'000);

std::string sample() {
    protocol::CacheIndex index;
    index.version = protocol::kCacheVersion;
    index.latents.channels = 4;
    index.text.channels = 16;
    index.text.max_tokens = 300;
    for (int i = 0; i < 3; ++i) {
        index.latent_shards.push_back({.file = "latents/" + std::to_string(i),
                                       .resolution = "360p",
                                       .height = 360,
                                       .width = 640,
                                       .num_frames = 51,
                                       .share = 0.5,
                                       .clips = 1000,
                                       .bytes = 1 << 20});
        index.text_shards.push_back({.file = "text/" + std::to_string(i),
                                     .first = 1000 * i - 1000,
                                     .captions = 7,
                                     .bytes = 99});
    }
    return protocol::encode(index);
}

void check(protocol::CacheIndex const& index) {
    EXPECT_EQ(index.version, protocol::kCacheVersion);
    EXPECT_GE(index.clips(), 0);
    EXPECT_LT(index.clips(), std::int64_t{1} << 32);
    for (auto const& shard : index.latent_shards) {
        EXPECT_TRUE(std::filesystem::path(shard.file).is_relative());
        for (auto const& part : std::filesystem::path(shard.file)) EXPECT_NE(part, "..");
        EXPECT_TRUE(shard.height > 0 && shard.width > 0 && shard.num_frames > 0);
        EXPECT_TRUE(shard.share > 0 && shard.share <= 1);
    }
    for (std::size_t i = 1; i < index.text_shards.size(); ++i)
        EXPECT_LT(index.text_shards[i - 1].first, index.text_shards[i].first);
}

TEST(Fuzz, CacheIndices) {
    std::vector<std::string> const corpus{sample()};
    Mutator mutator(22);
    int read = 0, refused = 0;
    for (int round = 0; round < kRounds; ++round) {
        auto const index = protocol::parse_cache_index(mutator.mutate(corpus));
        if (index.has_error()) {
            EXPECT_FALSE(index.error().message.empty());
            ++refused;
        } else {
            check(*index);
            ++read;
        }
    }
    EXPECT_GT(read, 0);
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace osora::fuzz
