// The benchmark's frames are those of the ffmpeg program's decoding of whole files, to the bit.
#include "worker/clips/bench.hpp"

#include "base/sha256.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/frames/yuv_to_rgb.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

constexpr int kWidth = 176, kHeight = 144, kFrames = 16, kStride = 3, kStart = 10;
constexpr std::size_t kFrameBytes = kWidth * kHeight * 3 / 2;

struct Codec {
    std::string file;
    std::vector<std::string> encoder;
};

std::vector<Codec> codecs() {
    return {
        {"h264_long.mp4", {"-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "250", "-bf", "3"}},
        {"h264_short.mp4", {"-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "12", "-bf", "3"}},
        {"h264.mkv", {"-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25"}},
        {"hevc.mp4",
         {"-c:v", "libx265", "-preset", "fast", "-pix_fmt", "yuv420p", "-x265-params",
          "log-level=none"}},
        {"vp9.webm", {"-c:v", "libvpx-vp9", "-cpu-used", "8", "-deadline", "realtime"}},
        {"av1.mp4", {"-c:v", "libsvtav1", "-preset", "12", "-pix_fmt", "yuv420p", "-g", "30"}},
    };
}

class Bench : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    }

    [[nodiscard]] protocol::ClipBenchRequest request(std::string const& rows) {
        write_all(folder_.file("clips.csv"), "path\n" + rows);
        return {.manifest = folder_.file("clips.csv"),
                .num_frames = kFrames,
                .stride = kStride,
                .start = kStart,
                .width = kWidth,
                .height = kHeight,
                .workers = 0};
    }

    /// Adds RGB of the window's frames, taken from all of the clip's.
    void add_expected(std::string const& path, Sha256& hash) {
        std::string const raw = all_frames(path, "yuv420p", folder_.file("raw"));
        std::vector<std::uint8_t> rgb(kWidth * kHeight * 3);
        for (std::size_t i = 0; i < kFrames; ++i) {
            std::size_t const at = (kStart + i * kStride) * kFrameBytes;
            ASSERT_LE(at + kFrameBytes, raw.size());
            auto const* y = reinterpret_cast<std::uint8_t const*>(raw.data() + at);
            yuv420_to_rgb({.y = y,
                           .u = y + kWidth * kHeight,
                           .v = y + kWidth * kHeight * 5 / 4,
                           .y_stride = kWidth,
                           .u_stride = kWidth / 2,
                           .v_stride = kWidth / 2,
                           .height = kHeight,
                           .width = kWidth},
                          {}, rgb);
            hash.add(rgb);
        }
    }

    TempFolder folder_;
};

TEST_F(Bench, FramesAreThoseOfAFullDecodeWithAnyNumberOfWorkers) {
    std::string rows;
    Sha256 all;
    int clips = 0;
    for (Codec const& codec : codecs()) {
        std::string const path = folder_.file(codec.file);
        if (!make_clip(path, "176x144", 2.4, codec.encoder)) continue;  // no such encoder
        Sha256 one;
        add_expected(path, one);
        add_expected(path, all);
        auto const bench = bench_clips(request(codec.file + "\n"));
        ASSERT_TRUE(bench) << bench.error().message;
        EXPECT_EQ(bench->sha256, one.finish()) << codec.file;
        rows += codec.file + "\n";
        ++clips;
    }
    ASSERT_GE(clips, 4);
    std::string const expected = all.finish();
    for (int const workers : {0, 1, 4}) {
        auto wanted = request(rows);
        wanted.workers = workers;
        auto const bench = bench_clips(wanted);
        ASSERT_TRUE(bench) << bench.error().message;
        EXPECT_EQ(bench->sha256, expected) << workers << " workers";
        EXPECT_EQ(bench->clips, clips);
        EXPECT_GT(bench->cpu_s_per_clip, 0);
        EXPECT_GT(bench->peak_rss_mib, 1);
        EXPECT_GT(bench->clips_per_s, 0);
    }
}

TEST_F(Bench, SaysWhichClipFailsAndWhatIsLeftOut) {
    std::vector<std::string> const h264{"-c:v",    "libx264",   "-pix_fmt",
                                        "yuv420p", "-movflags", "+faststart"};
    ASSERT_TRUE(make_clip(folder_.file("a.mp4"), "176x144", 2.4, h264));
    ASSERT_TRUE(make_clip(folder_.file("short.mp4"), "176x144", 1.0, h264));
    auto const some = bench_clips(request("a.mp4\nshort.mp4\nnone.mp4\n"));
    ASSERT_TRUE(some) << some.error().message;
    EXPECT_EQ(some->clips, 1);
    EXPECT_EQ(some->too_short, 1);
    EXPECT_EQ(some->skipped, 1);

    auto const none = bench_clips(request("short.mp4\n"));
    ASSERT_TRUE(none.has_error());
    EXPECT_EQ(none.error().code, Errc::invalid_input);
    EXPECT_NE(none.error().message.find("none of its 1 clips has 56 frames, the longest has 25"),
              std::string::npos)
        << none.error().message;

    std::string const whole = read_all(folder_.file("a.mp4"));
    write_all(folder_.file("cut.mp4"), whole.substr(0, whole.size() / 2));
    for (int const workers : {0, 3}) {
        auto wanted = request("a.mp4\ncut.mp4\na.mp4\n");
        wanted.workers = workers;
        auto const cut = bench_clips(wanted);
        ASSERT_TRUE(cut.has_error());
        EXPECT_EQ(cut.error().code, Errc::corrupt);
        EXPECT_TRUE(cut.error().message.starts_with("line 3: " + folder_.file("cut.mp4") + ": "))
            << cut.error().message;
    }

    auto large = request("a.mp4\n");
    large.width = large.height = 8192;
    large.num_frames = 10'000;
    EXPECT_NE(bench_clips(large).error().message.find("nearest valid: --frames"),
              std::string::npos);
}

}  // namespace
}  // namespace osora::worker
