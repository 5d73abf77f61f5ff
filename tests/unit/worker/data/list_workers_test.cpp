// A list read by several threads, or from a slow file system, is the one that is read otherwise.
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/manifest.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace osora::worker {
namespace {

std::vector<std::string> texts_of(std::vector<SkippedRow> const& rows) {
    std::vector<std::string> texts;
    for (SkippedRow const& row : rows)
        texts.push_back(std::to_string(row.line) + " " + row.path + ": " + row.reason);
    return texts;
}

TEST(ListWorkers, ReadTheSameList) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    silence_ffmpeg();
    TempFolder const folder;
    std::vector<std::string> const encoder{"-c:v", "libx264", "-pix_fmt", "yuv420p"};
    ASSERT_TRUE(make_clip(folder.file("short.mp4"), "64x48", 0.2, encoder));
    ASSERT_TRUE(make_clip(folder.file("long.mp4"), "96x64", 0.6, encoder));
    ASSERT_TRUE(make_clip(folder.file("image.png"), "32x32", 0.04, {"-frames:v", "1"}));
    write_all(folder.file("text.mp4"), "no video");
    std::string list = "path,num_frames,height,width,fps\n";
    for (int i = 0; i < 12; ++i)
        list +=
            "short.mp4,,,,\nlong.mp4,15,640,960,25\nnone.mp4,9,64,64,24\nimage.png,,,,\n"
            "text.mp4,,,,\nlong.mp4,x,,,\nlong.mp4,15,64,96,25\n";
    auto const read = [&](int workers, int& signs) {
        return *parse_manifest(
            list, folder.path(),
            {.keep_gone = true, .check_sizes = true, .workers = workers, .sign = [&signs] {
                 ++signs;
             }});
    };
    int signs_of_one = 0;
    auto const one = read(0, signs_of_one);
    ASSERT_EQ(one.clips.size(), 60u);
    EXPECT_EQ(one.clips[0].num_frames, 5);
    EXPECT_EQ(one.clips[0].width, 64);
    EXPECT_EQ(one.resized.size(), 12u);
    EXPECT_EQ(one.skipped.size(), 36u);
    for (int const workers : {1, 3, 100}) {
        int signs = 0;
        auto const several = read(workers, signs);
        EXPECT_EQ(several.fingerprint, one.fingerprint) << workers;
        EXPECT_EQ(texts_of(several.skipped), texts_of(one.skipped)) << workers;
        EXPECT_EQ(texts_of(several.resized), texts_of(one.resized)) << workers;
        EXPECT_EQ(signs, signs_of_one) << workers;
        ASSERT_EQ(several.clips.size(), one.clips.size()) << workers;
        for (std::size_t i = 0; i < one.clips.size(); ++i) {
            EXPECT_EQ(several.clips[i].line, one.clips[i].line);
            EXPECT_EQ(several.clips[i].gone, one.clips[i].gone);
            EXPECT_EQ(several.clips[i].probed, one.clips[i].probed);
            EXPECT_EQ(several.clips[i].fps, one.clips[i].fps);
        }
    }
}

/// A file system that is slow when a run starts again makes no other list: its checkpoint fits.
TEST(SlowList, KeepsClipsThatAnEarlierStartRead) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    silence_ffmpeg();
    TempFolder const folder;
    std::vector<std::string> const encoder{"-c:v", "libx264", "-pix_fmt", "yuv420p"};
    ASSERT_TRUE(make_clip(folder.file("a.mp4"), "64x48", 0.4, encoder));
    ASSERT_TRUE(make_clip(folder.file("b.mp4"), "64x48", 0.4, encoder));
    auto const read = [&](double deadline_s, bool keep_gone) {
        return parse_manifest("path,num_frames,height,width,fps\na.mp4,,,,\nb.mp4,9,48,64,25\n",
                              folder.path(),
                              {.probe_deadline_s = deadline_s,
                               .keep_gone = keep_gone,
                               .remembered = folder.file("read.csv")});
    };
    EXPECT_EQ(read(0, true)->clips.size(), 1u);  // nothing is known of a.mp4
    auto const before = *read(60, true);
    ASSERT_TRUE(remember_clips(before, folder.file("read.csv")));
    auto const slow = *read(0, true);
    EXPECT_EQ(slow.fingerprint, before.fingerprint);
    ASSERT_EQ(slow.clips.size(), 2u);
    EXPECT_FALSE(slow.clips[0].gone);
    EXPECT_EQ(slow.clips[0].num_frames, 10);
    EXPECT_TRUE(slow.skipped.empty());
    EXPECT_EQ(read(0, false)->clips.size(), 1u);
}

}  // namespace
}  // namespace osora::worker
