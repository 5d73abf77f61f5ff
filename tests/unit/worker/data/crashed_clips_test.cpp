// Notes of crashes, and what a list makes of them.
#include "worker/data/crashed_clips.hpp"

#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/manifest.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace osora::worker {
namespace {

class CrashedClipsTest : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        for (char const* name : {"a.mp4", "b.mp4", "c.mp4"}) write_all(file(name), "not read");
        std::filesystem::create_directories(run_dir_ / "crashed-clips");
    }
    [[nodiscard]] std::string file(std::string const& name) const { return folder_.file(name); }
    static std::string note(std::string const& start, std::string const& path) {
        return start + path + std::string(1, '\0');
    }
    TempFolder folder_;
    std::filesystem::path run_dir_ = folder_.path() / "run";
};

TEST_F(CrashedClipsTest, NotesOfAllAttemptsAndRanksAreRead) {
    EXPECT_TRUE(read_crashed_clips(folder_.path() / "no run").empty());
    EXPECT_TRUE(read_crashed_clips("").empty());
    write_all(crash_file_of(run_dir_, 0, 3), note("11 f ", "/a b\n.mp4") + note("6 h ", "/b.mp4"));
    write_all(crash_file_of(run_dir_, 1, 0), note("11 f ", "/c.mp4") + "11 f /cut.mp4");
    write_all(crash_file_of(run_dir_, 2, 0), note("", "/odd.mp4") + note("11 x ", "/odd.mp4"));
    auto const found = read_crashed_clips(run_dir_);
    EXPECT_EQ(found.in_frames.size(), 2u);
    EXPECT_EQ(found.in_headers.size(), 1u);
    for (char const* path : {"/a b\n.mp4", "/b.mp4", "/c.mp4"})
        EXPECT_TRUE(found.contains(path)) << path;
    EXPECT_TRUE(found.headers_crash("/b.mp4"));
    EXPECT_FALSE(found.headers_crash("/c.mp4"));
    for (char const* path : {"/cut.mp4", "/odd.mp4", "/c.mp", ""})
        EXPECT_FALSE(found.contains(path)) << path;
}

/// As ranks exchange them: rows of equal length, one after the other.
TEST_F(CrashedClipsTest, NumbersOfSeveralRanksAddUp) {
    write_all(crash_file_of(run_dir_, 0, 3), note("11 f ", "/a.mp4") + note("6 h ", "/b.mp4"));
    auto const some = read_crashed_clips(run_dir_);
    EXPECT_EQ(CrashedClips::of(some.numbers()), some);
    auto rows = some.numbers();
    rows.insert(rows.end(), {0, 0});
    for (auto const each : some.numbers()) rows.push_back(each);
    EXPECT_EQ(CrashedClips::of(rows), some);
    EXPECT_TRUE(CrashedClips::of({0, 0}).empty());
}

TEST_F(CrashedClipsTest, ClipsKeepTheirPlaceInTheList) {
    std::string const list =
        "path,num_frames,height,width,fps\na.mp4,51,360,640,24\nb.mp4,17,90,160,24\n"
        "c.mp4,1,64,64,\n";
    auto const before = *parse_manifest(list, folder_.path());
    write_all(crash_file_of(run_dir_, 0, 0), note("11 f ", file("b.mp4")));
    auto const after =
        *parse_manifest(list, folder_.path(), {.crashed = read_crashed_clips(run_dir_)});
    EXPECT_EQ(after.fingerprint, before.fingerprint);
    ASSERT_EQ(after.clips.size(), 3u);
    EXPECT_FALSE(after.clips[0].crashed);
    EXPECT_TRUE(after.clips[1].crashed);
    EXPECT_FALSE(after.clips[2].crashed);
    ASSERT_EQ(after.skipped.size(), 1u);
    EXPECT_EQ(after.skipped[0].line, 3);
    EXPECT_EQ(after.skipped[0].path, file("b.mp4"));
    EXPECT_EQ(after.skipped[0].reason, kCrashedText);
}

/// Figures that its row lacks are read all the same, unless that is what crashed.
TEST_F(CrashedClipsTest, HeadersAreReadUnlessTheyCrash) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    std::vector<std::string> const encoder{"-c:v", "libx264", "-pix_fmt", "yuv420p"};
    ASSERT_TRUE(make_clip(file("b.mp4"), "64x48", 0.4, encoder));
    ASSERT_TRUE(make_clip(file("c.mp4"), "64x48", 0.4, encoder));
    auto const read = [&] {
        return *parse_manifest("path\nc.mp4\nb.mp4\n", folder_.path(),
                               {.crashed = read_crashed_clips(run_dir_)});
    };
    auto const before = read();
    write_all(crash_file_of(run_dir_, 0, 0), note("11 f ", file("b.mp4")));
    EXPECT_EQ(read().fingerprint, before.fingerprint);
    EXPECT_TRUE(read().clips[1].crashed);
    write_all(crash_file_of(run_dir_, 0, 0), note("11 h ", file("b.mp4")));
    auto const unread = read();
    EXPECT_EQ(unread.clips.size(), 1u);
    ASSERT_EQ(unread.skipped.size(), 1u);
    EXPECT_EQ(unread.skipped[0].reason, kCrashedText);
}

/// A rank that opens a million files must not seem to hang.
TEST(ManifestSigns, AreGivenForEachRowAndEachLook) {
    TempFolder folder;
    write_all(folder.file("a.mp4"), "no video");
    std::string list = "path,num_frames,height,width,fps\n";
    for (int i = 0; i < 100; ++i) list += i % 2 == 0 ? "a.mp4,9,64,64,24\n" : "none.mp4,,,,\n";
    int signs = 0;
    auto const manifest =
        parse_manifest(list, folder.path(), {.check_sizes = true, .sign = [&signs] { ++signs; }});
    ASSERT_TRUE(manifest) << manifest.error().message;
    EXPECT_EQ(manifest->clips.size(), 50u);
    EXPECT_EQ(signs, 150);  // 100 rows, and a look at the size of each of 50 files
}

}  // namespace
}  // namespace osora::worker
