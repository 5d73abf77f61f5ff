// Sizes of a list against those that its files show.
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/manifest.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace osora::worker {
namespace {

class ListedSizes : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    }
    Result<Manifest> parse(std::string const& csv) { return parse_manifest(csv, folder_.path()); }
    TempFolder folder_;
};

/// Lists from ffprobe and PyAV: the stored size.
TEST_F(ListedSizes, AreComparedWithTheFiles) {
    std::vector<std::string> const plain{"-c:v", "libx264", "-pix_fmt", "yuv420p"};
    ASSERT_TRUE(make_clip(folder_.file("plain.mp4"), "64x48", 0.2, plain));
    write_turned(folder_.file("plain.mp4"), folder_.file("turned.mp4"));
    ASSERT_TRUE(
        ffmpeg({"-i", folder_.file("plain.mp4"), "-vf", "setsar=4/3", folder_.file("wide.mp4")}));
    std::string list = "path,num_frames,height,width,fps\n";
    for (char const* name : {"plain", "turned", "wide", "gone"})
        list += std::string(name) + ".mp4,5,48,64,25\n";
    auto const remembered = folder_.path() / "run" / "clips-read.csv";
    ManifestOptions const options{.keep_gone = true, .check_sizes = true, .remembered = remembered};
    auto const first = *parse_manifest(list, folder_.path(), options);
    ASSERT_EQ(first.clips.size(), 4u);
    EXPECT_EQ(first.clips[0].width, 64);
    EXPECT_EQ(first.clips[1].width, 48);
    EXPECT_EQ(first.clips[1].height, 64);
    EXPECT_EQ(first.clips[2].width, 85);
    ASSERT_EQ(first.resized.size(), 2u);
    EXPECT_EQ(first.resized[0].line, 3);
    EXPECT_EQ(first.resized[0].reason,
              "the row says 64 x 48, as the file stores it, players show 48 x 64");
    EXPECT_EQ(first.resized[1].reason,
              "the row says 64 x 48, as the file stores it, players show 85 x 48");
    // Gone by the next start: what is read stays the same.
    ASSERT_TRUE(remember_clips(first, remembered));
    std::filesystem::remove(folder_.file("turned.mp4"));
    auto const second = *parse_manifest(list, folder_.path(), options);
    EXPECT_EQ(second.fingerprint, first.fingerprint);
    EXPECT_TRUE(second.clips[1].gone);
    // Unchanged if the check is not requested.
    EXPECT_EQ(parse(list)->clips[1].width, 64);
}

/// One wrong size among those that are looked at is enough to look at all.
TEST_F(ListedSizes, OneWrongOneHasAllOfThemLookedAt) {
    ASSERT_TRUE(make_clip(folder_.file("a.png"), "48x64", 0.04, {"-frames:v", "1"}));
    std::string list = "path,num_frames,height,width\n";
    for (int i = 0; i < 200; ++i) list += i % 3 == 1 ? "a.png,1,48,64\n" : "a.png,1,64,48\n";
    auto const manifest = *parse_manifest(list, folder_.path(), {.check_sizes = true});
    EXPECT_EQ(manifest.resized.size(), 67u);
    EXPECT_TRUE(std::ranges::all_of(manifest.clips, [](auto& clip) { return clip.width == 48; }));
    EXPECT_TRUE(std::ranges::is_sorted(manifest.resized, {}, &SkippedRow::line));
}

}  // namespace
}  // namespace osora::worker
