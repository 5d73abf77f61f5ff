// The index of a cache folder: what is read, and the errors for foreign files.
#include "protocol/cache_index.hpp"

#include "protocol/json.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace osora::protocol {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

CacheIndex small_index() {
    CacheIndex index;
    index.version = kCacheVersion;
    index.latents.channels = 4;
    index.latents.temporal = 4;
    index.latents.spatial = 8;
    index.text.channels = 16;
    index.text.max_tokens = 300;
    index.latent_shards = {{.file = "latents/000000.safetensors",
                            .resolution = "64",
                            .height = 64,
                            .width = 64,
                            .num_frames = 8,
                            .share = 0.5,
                            .clips = 3,
                            .bytes = 5}};
    index.text_shards = {
        {.file = "text/000000.safetensors", .first = -7, .captions = 2, .bytes = 4},
        {.file = "text/000001.safetensors", .first = 9, .captions = 1, .bytes = 4}};
    return index;
}

std::string refusal(std::function<void(CacheIndex&)> const& change) {
    auto index = small_index();
    change(index);
    auto const read = parse_cache_index(encode(index));
    return read.has_error() ? read.error().message : "accepted";
}

TEST(CacheIndex, ReadsWhatWasWritten) {
    auto const read = parse_cache_index(encode(small_index()));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(encode(*read), encode(small_index()));
    EXPECT_EQ(read->clips(), 3);
}

TEST(CacheIndex, RefusesImpossibleValues) {
    EXPECT_THAT(refusal([](auto& i) { i.version = 2; }), HasSubstr("version 2"));
    EXPECT_THAT(refusal([](auto& i) { i.version = 0; }), HasSubstr("no version"));
    EXPECT_THAT(refusal([](auto& i) { i.latents.channels = -1; }), HasSubstr("out of range"));
    EXPECT_THAT(refusal([](auto& i) { i.latents.channels = 0; }), HasSubstr("without channels"));
    EXPECT_THAT(refusal([](auto& i) { i.latents.spatial = 0; }), HasSubstr("out of range"));
    EXPECT_THAT(refusal([](auto& i) { i.latents.dtype = "F8"; }), HasSubstr("F8"));
    EXPECT_THAT(refusal([](auto& i) { i.latent_shards[0].height = 0; }), HasSubstr("cannot be"));
    EXPECT_THAT(refusal([](auto& i) { i.latent_shards[0].share = 0; }), HasSubstr("cannot be"));
    EXPECT_THAT(refusal([](auto& i) { i.latent_shards[0].clips = 1LL << 40; }),
                HasSubstr("cannot be"));
    EXPECT_THAT(refusal([](auto& i) { i.text_shards[0].captions = 0; }), HasSubstr("cannot be"));
    EXPECT_THAT(refusal([](auto& i) { i.text_shards[1].first = -7; }), HasSubstr("out of order"));
    for (std::string const file : {"/etc/passwd", "../other/a", "latents/../../a", ""}) {
        EXPECT_THAT(refusal([&](auto& i) { i.latent_shards[0].file = file; }),
                    HasSubstr("cannot be"))
            << file;
    }
    EXPECT_EQ(parse_cache_index("{").error().code, Errc::corrupt);
    EXPECT_EQ(parse_cache_index("[]").error().code, Errc::corrupt);
}

TEST(CacheIndex, NamesAShardThatIsMissingOrCut) {
    std::string pattern = (fs::temp_directory_path() / "cache index-XXXXXX").string();
    fs::path const folder = mkdtemp(pattern.data());
    EXPECT_THAT(open_cache(folder).error().message, HasSubstr("has not ended"));
    auto index = small_index();
    fs::create_directories(folder / "latents");
    fs::create_directories(folder / "text");
    std::ofstream(folder / "index.json") << encode(index);
    auto const write = [&](std::string const& file, std::string const& text) {
        std::ofstream(folder / file) << text;
    };
    write("latents/000000.safetensors", "12345");
    write("text/000000.safetensors", "1234");
    EXPECT_THAT(open_cache(folder).error().message, HasSubstr("000001.safetensors"));
    write("text/000001.safetensors", "123");
    EXPECT_THAT(open_cache(folder).error().message, HasSubstr("3 bytes, the index says 4"));
    write("text/000001.safetensors", "1234");
    EXPECT_TRUE(open_cache(folder).has_value());
    fs::remove_all(folder);
}

// As Python: int.from_bytes(hashlib.sha256(b"a cat").digest()[:8], "big", signed=True)
TEST(CacheIndex, HashesCaptionsAsPythonDoes) {
    EXPECT_EQ(caption_hash(""), -2039914840885289964);
    EXPECT_EQ(caption_hash("a cat"), 5900954942076057986);
    EXPECT_EQ(caption_hash("ein M\xC3\xA4rchen"), -2676984435695045326);
}

}  // namespace
}  // namespace osora::protocol
