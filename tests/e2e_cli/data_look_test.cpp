// osora data look as a user types it: text, JSON, the file, exit codes.
#include "protocol/clip_look.hpp"
#include "tests/e2e_cli/cli_fixture.hpp"
#include "tests/unit/worker/data/clips.hpp"

#include <sys/stat.h>

namespace osora::e2e_cli {
namespace {

using testing::HasSubstr;

class DataLook : public Cli {
protected:
    void SetUp() override {
        Cli::SetUp();
        if (!worker::have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
        write_run_file(10);
        ASSERT_TRUE(worker::make_clip(folder_ / "a.mp4", "96x64", 1.0,
                                      {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
        write("clips.csv", "path\na.mp4\na.mp4\n");
        write("empty.mp4", "");
        write("bad.csv", "path\na.mp4\nempty.mp4\n");
    }
    Ended look(std::vector<std::string> const& more) {
        std::vector<std::string> words{"data", "look"};
        words.insert(words.end(), more.begin(), more.end());
        return osora(words);
    }
    void expect_refused(std::vector<std::string> const& more, std::string const& error) {
        auto const ended = look(more);
        EXPECT_EQ(ended.code, 2) << ended.out;
        EXPECT_THAT(ended.err, HasSubstr(error));
        EXPECT_FALSE(std::filesystem::exists(folder_ / "new.png"));
    }
};

TEST_F(DataLook, SaysWhatIsInTheRowsOfThePicture) {
    auto const ended = look({"run.toml"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    for (auto const& line : lines_of(ended.out)) EXPECT_LE(line.size(), 80u) << line;
    for (char const* const said :
         {"  1  line 2     a.mp4\n     32 x 4 frames: 40 x 28\n     source 96 x 64, 25 frames, 25 "
          "fps\n     crop 91 x 64 at 2, 0; scale 0.4396\n     frames ",
          "  2  line 3     a.mp4\n", "2 of 2 clips shown, of 2 in the list; seed 1024\n",
          "picture  look.png (180 x 68 pixels, a row a clip)\n"})
        EXPECT_THAT(ended.out, HasSubstr(said));
    EXPECT_TRUE(content_of(folder_ / "look.png").starts_with("\x89PNG"));
    EXPECT_THAT(look({"run.toml", "--clip", "3", "--force", "--seed", "7"}).out,
                HasSubstr("1 of 1 clip shown, of 2 in the list; seed 7\n"));
}

TEST_F(DataLook, AListNeedsABucket) {
    auto const json = look({"clips.csv", "--bucket", "32:4", "--bucket", "32:9", "--json"});
    EXPECT_EQ(json.code, 0) << json.err;
    auto const looked = protocol::decode<protocol::ClipLook>(json.out);
    ASSERT_TRUE(looked.has_value()) << json.out;
    EXPECT_EQ(looked->schema, "osora.data_look/1");
    EXPECT_EQ(looked->clips.at(0).num_frames, 9);  // the longest that it fits
    EXPECT_EQ(looked->clips.at(0).shown.size(), 8u);
    expect_refused({"clips.csv", "--out", "new.png"}, "add --bucket 360p:51");
    expect_refused({"clips.csv", "--bucket", "32:x", "--out", "new.png"},
                   "expected RESOLUTION:FRAMES as in 360p:51");
    expect_refused({"clips.csv", "--bucket", "361p:4", "--out", "new.png"}, "--bucket 361p:4: ");
}

TEST_F(DataLook, DamagedClipsAreListed) {
    auto const bad = look({"bad.csv", "--bucket", "32:4"});
    EXPECT_EQ(bad.code, 1) << bad.err;
    EXPECT_THAT(bad.out, HasSubstr("  2  line 3     empty.mp4\n     empty: the file is empty\n"));
    EXPECT_THAT(bad.out, HasSubstr("1 of 2 clips shown"));
    auto const none = look({"clips.csv", "--bucket", "1080p:4", "--force"});
    EXPECT_EQ(none.code, 1) << none.err;
    EXPECT_THAT(none.out, HasSubstr("left out: small: it has 96 x 64 = 6144 pixels"));
}

TEST_F(DataLook, SaysWhatIsWrong) {
    std::string const out = "--out=new.png";
    expect_refused({}, "RUN.toml|CLIPS.csv");
    expect_refused({"none.toml", out}, "none.toml");
    expect_refused({"none.csv", "--bucket", "32:4", out}, "none.csv");
    expect_refused({"run.toml", "--bucket", "32:5", out}, "the run has 32:4");
    expect_refused({"run.toml", "--clip", "b.mp4", out}, "lists no such path; did you mean a.mp4?");
    expect_refused({"run.toml", "--clip", "2", "--clips", "3", out}, "leave it out with --clip");
    expect_refused(
        {"run.toml", "--set", "run.job=\"encode\"", "--set", "encode.out=\"cache\"", out},
        "encoded once");
    expect_refused({"run.toml", "--set", "debug.bucket_schedule=\"original\"", out},
                   "--set 'debug.bucket_schedule=\"balanced\"'");
    expect_refused({"run.toml", "--columns", "path=video", out}, "[data] columns");
    expect_refused({"clips.csv", "--bucket", "32:4", "--set", "train.seed=1", out}, "a run file");
    expect_refused({"run.toml", "--out", "new.jpg"}, "nearest valid: new.png");
    expect_refused({"run.toml", "--out", "no/new.png"}, "there is no folder");
    ASSERT_EQ(mkfifo((folder_ / "pipe.png").c_str(), 0600), 0);
    expect_refused({"run.toml", "--out", "pipe.png"}, "is no regular file");
    write("mine.png", "mine");
    expect_refused({"run.toml", "--out", "mine.png"}, "is there already; --force replaces it");
    EXPECT_EQ(content_of(folder_ / "mine.png"), "mine");
}

}  // namespace
}  // namespace osora::e2e_cli
