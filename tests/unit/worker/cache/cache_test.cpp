// Shards of a cache written and read back, and what is said of those that are not as the index
// says.
#include "worker/cache/latent_cache.hpp"
#include "worker/cache/text_cache.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <filesystem>

namespace osora::worker {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Cache : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "cache-XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
        fs::create_directories(folder_ / "latents");
        fs::create_directories(folder_ / "text");
        index_.version = protocol::kCacheVersion;
        index_.latents.channels = 4;
        index_.latents.temporal = 4;
        index_.latents.spatial = 8;
        index_.latents.chunk_frames = 17;
        index_.latents.std = true;
        index_.text.channels = 6;
        index_.text.max_tokens = 5;
    }
    void TearDown() override { fs::remove_all(folder_); }

    /// `clips` clips of 22 frames, 16 x 24 pixels: 7 x 2 x 3 latents.
    LatentRows add_latents(std::int64_t clips) {
        auto const number = index_.latent_shards.size();
        LatentShard shard{.file = "latents/" + std::to_string(number) + ".safetensors",
                          .resolution = "20",
                          .height = 16,
                          .width = 24,
                          .num_frames = 22,
                          .share = 1,
                          .clips = clips};
        LatentRows rows;
        rows.mean = at::rand({clips, 4, 7, 2, 3});
        rows.std = at::rand({clips, 4, 7, 2, 3});
        rows.caption = at::arange(clips, at::kLong) + 100;
        rows.row = at::arange(clips, at::kLong) + 2;
        rows.start_frame = at::arange(clips, at::kLong);
        rows.fps = at::ones({clips}, at::kDouble) * 24;
        auto const written = write_latent_shard(folder_ / shard.file, rows, "path\n",
                                                {"settings", static_cast<std::int64_t>(number)});
        EXPECT_TRUE(written.has_value()) << written.error().message;
        index_.latent_shards.push_back(shard);
        return rows;
    }

    /// Captions 10, 20, 30 (+ `first`) of 1, 2, 3 tokens.
    TextRows add_text(std::int64_t first) {
        auto const number = index_.text_shards.size();
        TextShard shard{.file = "text/" + std::to_string(number) + ".safetensors",
                        .first = first + 10,
                        .captions = 3};
        TextRows rows;
        rows.caption = (at::arange(3, at::kLong) + 1) * 10 + first;
        rows.offset = at::tensor({0, 1, 3, 6}, at::kLong);
        rows.embedding = at::rand({6, 6});
        auto const written = write_text_shard(folder_ / shard.file, rows, {"settings", 0});
        EXPECT_TRUE(written.has_value()) << written.error().message;
        index_.text_shards.push_back(shard);
        return rows;
    }

    std::string read_error() {
        auto const read = LatentCache(folder_, index_).read(0);
        return read.has_error() ? read.error().message : "read";
    }

    fs::path folder_;
    CacheIndex index_;
};

TEST_F(Cache, FindsAClipByItsNumberOverShards) {
    auto const first = add_latents(3);
    add_latents(0);
    auto const second = add_latents(2);
    LatentCache cache(folder_, index_);
    for (std::uint32_t const number : {4u, 0u, 3u, 2u}) {
        auto const clip = cache.read(number);
        ASSERT_TRUE(clip.has_value()) << clip.error().message;
        auto const& rows = number < 3 ? first : second;
        std::int64_t const row = number < 3 ? number : number - 3;
        EXPECT_TRUE(at::equal(clip->mean, rows.mean[row]));
        EXPECT_TRUE(at::equal(clip->std, rows.std[row]));
        EXPECT_EQ(clip->caption, 100 + row);
        EXPECT_EQ(clip->start_frame, row);
        EXPECT_EQ(clip->fps, 24);
    }
}

TEST_F(Cache, NamesTheTensorThatIsNotAsTheIndexSays) {
    add_latents(3);
    auto const index = index_;
    index_.latent_shards[0].clips = 4;
    EXPECT_THAT(read_error(), HasSubstr("tensor 'mean': shape (3, 4, 7, 2, 3) in place of (4, "));
    index_ = index;
    index_.latents.channels = 16;
    EXPECT_THAT(read_error(), HasSubstr("tensor 'mean': shape"));
    index_ = index;
    index_.latents.dtype = "BF16";
    EXPECT_THAT(read_error(), HasSubstr("F32 in place of BF16"));
    index_ = index;
    fs::resize_file(folder_ / "latents/0.safetensors", 700);
    EXPECT_THAT(read_error(), HasSubstr("latents/0.safetensors"));
    fs::remove(folder_ / "latents/0.safetensors");
    EXPECT_THAT(read_error(), HasSubstr("No such file"));
}

TEST_F(Cache, PadsCaptionsToTheLongestOfTheBatch) {
    auto const low = add_text(0), high = add_text(1000);
    TextCache cache(folder_, index_);
    std::vector<std::int64_t> const hashes{20, 1010, 20};
    auto const batch = cache.batch(hashes, 300);
    ASSERT_TRUE(batch.has_value()) << batch.error().message;
    ASSERT_EQ(batch->text.sizes(), (at::IntArrayRef{3, 2, 6}));
    EXPECT_TRUE(at::equal(batch->text[0], low.embedding.narrow(0, 1, 2)));
    EXPECT_TRUE(at::equal(batch->text[1][0], high.embedding[0]));
    EXPECT_TRUE(at::equal(batch->text[1][1], at::zeros({6})));
    EXPECT_TRUE(at::equal(batch->mask.sum(1), at::tensor({2, 1, 2}, at::kLong)));
    EXPECT_FALSE(batch->pooled.defined());
    // A model that reads padding gets as many rows in every batch.
    auto const filled = cache.batch(hashes, 300, 5);
    ASSERT_TRUE(filled.has_value());
    ASSERT_EQ(filled->text.sizes(), (at::IntArrayRef{3, 5, 6}));
    EXPECT_TRUE(at::equal(filled->text.narrow(1, 0, 2), batch->text));
    EXPECT_TRUE(at::equal(filled->text.narrow(1, 2, 3), at::zeros({3, 3, 6})));
    EXPECT_TRUE(at::equal(filled->mask.sum(1), at::tensor({2, 1, 2}, at::kLong)));
    // A model with room for fewer tokens gets the first of them.
    std::vector<std::int64_t> const longest{30};
    auto const cut = cache.batch(longest, 2);
    ASSERT_TRUE(cut.has_value());
    EXPECT_TRUE(at::equal(cut->text[0], low.embedding.narrow(0, 3, 2)));
}

TEST_F(Cache, SaysWhichCaptionIsMissing) {
    add_text(0);
    add_text(1000);
    TextCache cache(folder_, index_);
    for (std::int64_t const hash : {-5, 5, 15, 999, 1015, 5000}) {
        auto const found = cache.find(hash);
        ASSERT_TRUE(found.has_value());
        EXPECT_FALSE(*found) << hash;
        std::vector<std::int64_t> const one{hash};
        // As a file that is missing it would be waited for.
        EXPECT_EQ(cache.batch(one, 300).error().code, Errc::corrupt);
    }
}

TEST_F(Cache, RefusesOffsetsThatDoNotFit) {
    auto rows = add_text(0);
    auto const error = [&](at::Tensor const& offset, at::Tensor const& caption) {
        rows.offset = offset;
        rows.caption = caption;
        EXPECT_TRUE(write_text_shard(folder_ / index_.text_shards[0].file, rows, {"settings", 0})
                        .has_value());
        auto const found = TextCache(folder_, index_).find(10);
        return found.has_error() ? found.error().message : "read";
    };
    at::Tensor const good = rows.offset, hashes = rows.caption;
    auto const numbers = [](std::initializer_list<std::int64_t> list) {
        return at::tensor(std::vector<std::int64_t>(list), at::kLong);
    };
    EXPECT_EQ(error(good, hashes), "read");
    EXPECT_THAT(error(numbers({0, 1, 3, 7}), hashes), HasSubstr("do not cover"));
    EXPECT_THAT(error(numbers({0, 3, 3, 6}), hashes), HasSubstr("caption 1 has no tokens"));
    EXPECT_THAT(error(numbers({0, 9, 3, 6}), hashes), HasSubstr("caption 0 has 9 tokens"));
    EXPECT_THAT(error(good, numbers({10, 10, 30})), HasSubstr("out of order"));
    EXPECT_THAT(error(good, numbers({11, 20, 30})), HasSubstr("out of order"));
}

TEST_F(Cache, KnowsItsOwnShards) {
    add_latents(3);
    auto const path = folder_ / index_.latent_shards[0].file;
    EXPECT_EQ(*finished_shard(path, {"settings", 0}), 3);
    EXPECT_EQ(finished_shard(path, {"other", 0}).error().code, Errc::invalid_input);
    EXPECT_EQ(finished_shard(path, {"settings", 1}).error().code, Errc::invalid_input);
    EXPECT_EQ(finished_shard(folder_ / "none", {"settings", 0}).error().code, Errc::not_found);
    fs::resize_file(path, fs::file_size(path) - 1);
    EXPECT_EQ(finished_shard(path, {"settings", 0}).error().code, Errc::corrupt);
}

}  // namespace
}  // namespace osora::worker
