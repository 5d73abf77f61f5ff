// Damaged and foreign files: an error or a picture, never a crash, a hang or a wrong length.
#include "worker/data/frames/decoder.hpp"

#include "tests/kit/patience.hpp"
#include "tests/kit/size.hpp"
#include "tests/unit/worker/data/clips.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <random>

namespace osora::worker {
namespace {

int const kTrials = tests::test_size("OSORA_FLIPS", 60);  // of each file

class Damaged : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    }
    Result<void> decode(std::string const& path) {
        return decoder_.decode(path, {.start = 5, .stride = 2, .num_frames = 8}, {32, 32}, out_);
    }
    TempFolder folder_;
    ClipDecoder decoder_{{.deadline_s = tests::kPatience_s}};  // timed_out: it hung
    std::vector<std::uint8_t> out_ = std::vector<std::uint8_t>(8 * 32 * 32 * 3);
};

TEST_F(Damaged, ForeignFilesAreErrors) {
    auto code = [this](std::string const& path) {
        auto const result = decode(path);
        return result.has_error() ? result.error().code : Errc::busy;
    };
    write_all(folder_.file("empty.mp4"), "");
    write_all(folder_.file("text.mp4"), std::string(5000, 'a'));
    write_all(folder_.file("text.txt"), "just some text\nof two lines\n");
    write_all(folder_.file("list.m3u8"),
              "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nempty.mp4\n#EXT-X-ENDLIST\n");
    write_all(folder_.file("list.ffconcat"), "ffconcat version 1.0\nfile empty.mp4\n");
    write_all(folder_.file("text.png"), "not a picture");
    write_all(folder_.file("zeros.mkv"), std::string(100'000, '\0'));
    ASSERT_TRUE(
        ffmpeg({"-f", "lavfi", "-i", "sine=duration=1", "-c:a", "aac", folder_.file("sound.mp4")}));
    for (std::string const name : {"empty.mp4", "text.mp4", "text.txt", "list.m3u8",
                                   "list.ffconcat", "text.png", "zeros.mkv", "sound.mp4"}) {
        EXPECT_EQ(code(folder_.file(name)), Errc::corrupt) << name;
        EXPECT_TRUE(decoder_.probe(folder_.file(name)).has_error()) << name;
    }
    EXPECT_EQ(code(folder_.file("none.mp4")), Errc::not_found);
    EXPECT_EQ(code(folder_.path()), Errc::corrupt);
    EXPECT_EQ(code("http://127.0.0.1:9/a.mp4"), Errc::not_found);
    ASSERT_EQ(mkfifo(folder_.file("pipe.mp4").c_str(), 0600), 0);
    EXPECT_EQ(code(folder_.file("pipe.mp4")), Errc::corrupt);
}

TEST_F(Damaged, CutFilesAreErrors) {
    struct Case {
        std::string file;
        std::vector<std::string> encoder;
    };
    for (Case const& c :
         {Case{"a.mp4", {"-c:v", "libx264", "-movflags", "+faststart"}},
          Case{"b.mp4", {"-c:v", "libx264"}},
          Case{"c.mp4",
               {"-c:v", "libx265", "-x265-params", "log-level=none", "-movflags", "+faststart"}},
          Case{"d.mp4", {"-c:v", "mpeg4", "-bf", "2", "-movflags", "+faststart"}},
          Case{"e.mkv", {"-c:v", "libx264"}}}) {
        std::string const whole = folder_.file("whole" + c.file);
        auto encoder = c.encoder;
        encoder.insert(encoder.end(), {"-pix_fmt", "yuv420p", "-g", "50"});
        ASSERT_TRUE(make_clip(whole, "128x96", 1.0, encoder));
        ASSERT_TRUE(decode(whole)) << c.file;
        std::string const content = read_all(whole);
        // The window ends at frame 19 of 25, so a cut in the first half of the data hits it.
        for (int percent = 1; percent <= 60; ++percent) {
            write_all(folder_.file(c.file), content.substr(0, content.size() * percent / 100));
            EXPECT_TRUE(decode(folder_.file(c.file)).has_error()) << c.file << " " << percent;
        }
    }
}

/// Flips `flips` bits and counts what came of it; silent = decoded without an error, other pixels.
struct Outcome {
    int errors = 0, same = 0, silent = 0;
};

TEST_F(Damaged, FlippedBitsNeverCrashOrHang) {
    struct Case {
        std::string file;
        std::vector<std::string> encoder;
    };
    for (Case const& c :
         {Case{"a.mp4", {"-c:v", "libx264"}},
          Case{"b.mp4", {"-c:v", "libx265", "-x265-params", "log-level=none"}},
          Case{"c.mp4", {"-c:v", "mpeg4", "-bf", "2"}}, Case{"d.mkv", {"-c:v", "libx264"}},
          Case{"e.ts", {"-c:v", "mpeg2video"}}, Case{"f.avi", {"-c:v", "mpeg4"}}}) {
        std::string const whole = folder_.file("whole" + c.file);
        auto encoder = c.encoder;
        encoder.insert(encoder.end(), {"-pix_fmt", "yuv420p"});
        ASSERT_TRUE(make_clip(whole, "128x96", 1.0, encoder));
        ASSERT_TRUE(decode(whole));
        auto const right = out_;
        std::string const content = read_all(whole);
        std::mt19937 random(5);
        Outcome outcome;
        for (int trial = 0; trial < kTrials; ++trial) {
            std::string bad = content;
            for (int flip = 0; flip < 1 + trial % 8; ++flip) {
                // Every other trial aims at the headers at either end of the file.
                std::size_t const at =
                    trial % 2 == 0 ? random() % bad.size()
                    : trial % 4 == 1
                        ? random() % std::min<std::size_t>(bad.size(), 1500)
                        : bad.size() - 1 - random() % std::min<std::size_t>(bad.size(), 1500);
                bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
            }
            write_all(folder_.file(c.file), bad);
            auto const decoded = decode(folder_.file(c.file));
            if (decoded.has_error()) {
                ASSERT_NE(decoded.error().code, Errc::timed_out) << c.file << " " << trial;
                ++outcome.errors;
            } else {
                ++(out_ == right ? outcome.same : outcome.silent);
            }
        }
        RecordProperty(c.file + "_errors", outcome.errors);
        RecordProperty(c.file + "_silent", outcome.silent);
        printf("%s: %d errors, %d unharmed, %d silent of %d\n", c.file.c_str(), outcome.errors,
               outcome.same, outcome.silent, kTrials);
        EXPECT_GT(outcome.errors, kTrials / 10) << c.file;
    }
}

}  // namespace
}  // namespace osora::worker
