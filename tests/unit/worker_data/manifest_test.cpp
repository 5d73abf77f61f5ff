// Manifests as pandas, Excel and people write them, and every way a row can be bad.
#include "worker/data/manifest.hpp"

#include "tests/unit/worker_data/clips.hpp"
#include "worker/data/decoder.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

class ManifestTest : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        write_all(folder_.file("a.mp4"), "not read, its numbers are given");
        write_all(folder_.file("b c, \"d\".mp4"), "same");
    }
    Result<Manifest> parse(std::string const& csv) { return parse_manifest(csv, folder_.path()); }
    TempFolder folder_;
};

TEST_F(ManifestTest, ReadsOpenSorasColumnsInAnyOrder) {
    auto const manifest = *parse(
        "\xEF\xBB\xBF"
        "fps,path,extra,height,width,num_frames,text,aspect_ratio,resolution\r\n"
        "23.976,a.mp4,?,360,640,51.0,\"a cat, \u00e9\",0.5625,230400\r\n"
        "30,\"b c, \"\"d\"\".mp4\",?,90,160,17,,,\r\n");
    ASSERT_EQ(manifest.clips.size(), 2u);
    EXPECT_TRUE(manifest.skipped.empty());
    EXPECT_EQ(manifest.clips[0].path, folder_.file("a.mp4"));
    EXPECT_EQ(manifest.clips[0].text, "a cat, \u00e9");
    EXPECT_EQ(manifest.clips[0].num_frames, 51);
    EXPECT_EQ(manifest.clips[0].height, 360);
    EXPECT_EQ(manifest.clips[0].width, 640);
    EXPECT_DOUBLE_EQ(manifest.clips[0].fps, 23.976);
    EXPECT_EQ(manifest.clips[1].path, folder_.file("b c, \"d\".mp4"));
    EXPECT_EQ(manifest.clips[1].line, 3);
}

TEST_F(ManifestTest, BadRowsAreSkippedWithLineAndReason) {
    auto const manifest = *parse(
        "path,num_frames,height,width,fps\n"
        "a.mp4,51,360,640,24\n"
        "none.mp4,51,360,640,24\n"
        "a.mp4,51,360,640\n"
        "a.mp4,-5,360,640,24\n"
        "a.mp4,51,360x,640,24\n"
        "a.mp4,5.5,360,640,24\n"
        ",51,360,640,24\n"
        ".,51,360,640,24\n"
        "\"a.mp4,51,360,640,24\n"
        "a.mp4,1,360,640,\n");
    ASSERT_EQ(manifest.clips.size(), 2u);
    EXPECT_EQ(manifest.clips[1].line, 11);
    std::vector<std::pair<int, std::string>> const expected{
        {3, "no such file"},       {4, "4 fields, the header has 5"},
        {5, "num_frames \"-5\""},  {6, "height \"360x\""},
        {7, "num_frames \"5.5\""}, {8, "the path is empty"},
        {9, "regular file"},       {10, "quote"}};
    ASSERT_EQ(manifest.skipped.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(manifest.skipped[i].line, expected[i].first);
        EXPECT_NE(manifest.skipped[i].reason.find(expected[i].second), std::string::npos)
            << manifest.skipped[i].reason;
    }
    EXPECT_EQ(manifest.skipped[0].path, folder_.file("none.mp4"));
}

TEST_F(ManifestTest, NothingToTrainOnIsAClearError) {
    for (auto const& [csv, words] : std::vector<std::pair<std::string, std::string>>{
             {"", "empty"},
             {"path,text\n", "lists no clip"},
             {"file,text\na.mp4,x\n", "no \"path\" column"},
             {"path,path\na.mp4,x\n", "given twice"},
             {"path\nnone.mp4\nnone2.mp4\n", "none of its 2 rows"}}) {
        auto const manifest = parse(csv);
        ASSERT_TRUE(manifest.has_error()) << csv;
        EXPECT_EQ(manifest.error().code, Errc::invalid_input);
        EXPECT_NE(manifest.error().message.find(words), std::string::npos)
            << manifest.error().message;
    }
    EXPECT_EQ(read_manifest(folder_.file("none.csv")).error().code, Errc::not_found);
}

TEST_F(ManifestTest, GapsAreFilledFromTheFiles) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    ASSERT_TRUE(
        make_clip(folder_.file("v.mp4"), "64x48", 1.2, {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
    ASSERT_TRUE(make_clip(folder_.file("v.mkv"), "64x48", 1.2, {"-c:v", "mpeg4"}));
    ASSERT_TRUE(make_clip(folder_.file("i.png"), "50x40", 0.04, {"-frames:v", "1"}));
    write_all(folder_.file("m.csv"), "path,fps\nv.mp4,\nv.mkv,\ni.png,\na.mp4,\n");
    auto const manifest = *read_manifest(folder_.file("m.csv"));
    ASSERT_EQ(manifest.clips.size(), 3u);
    for (int i : {0, 1}) {
        EXPECT_EQ(manifest.clips[i].num_frames, 30);
        EXPECT_EQ(manifest.clips[i].height, 48);
        EXPECT_EQ(manifest.clips[i].width, 64);
        EXPECT_DOUBLE_EQ(manifest.clips[i].fps, 25.0);
    }
    EXPECT_EQ(manifest.clips[2].num_frames, 1);
    EXPECT_EQ(manifest.clips[2].height, 40);
    ASSERT_EQ(manifest.skipped.size(), 1u);
    EXPECT_EQ(manifest.skipped[0].line, 5);
}

TEST_F(ManifestTest, FingerprintFollowsClipsAndOrder) {
    std::string const head = "path,num_frames,height,width,fps\n";
    std::string const a = "a.mp4,51,360,640,24\n";
    std::string const b = "\"b c, \"\"d\"\".mp4\",51,360,640,24\n";
    auto const mark = [this](std::string const& csv) { return parse(csv)->fingerprint; };
    EXPECT_EQ(mark(head + a + b), mark(head + a + "none,1,1,1,1\n" + b));
    EXPECT_NE(mark(head + a + b), mark(head + b + a));
    EXPECT_NE(mark(head + a), mark(head + "a.mp4,52,360,640,24\n"));
}

}  // namespace
}  // namespace osora::worker
