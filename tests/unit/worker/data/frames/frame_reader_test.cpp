// Selective decoding against the ffmpeg program's decoding of everything: bit-exact planes.
#include "worker/data/frames/frame_reader.hpp"

#include "tests/unit/worker/data/clips.hpp"

#include <gtest/gtest.h>

#include <random>

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

namespace osora::worker {
namespace {

struct Case {
    std::string name;
    std::string file;
    std::vector<std::string> encoder;
    bool skips = false;  // unreferenced pictures must not be decoded

    friend void PrintTo(Case const& c, std::ostream* os) { *os << c.name; }
};

std::string planes_of(AVFrame const& frame) {
    auto const format = static_cast<AVPixelFormat>(frame.format);
    int const size = av_image_get_buffer_size(format, frame.width, frame.height, 1);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    av_image_copy_to_buffer(reinterpret_cast<std::uint8_t*>(bytes.data()), size, frame.data,
                            frame.linesize, format, frame.width, frame.height, 1);
    return bytes;
}

class SelectiveDecode : public testing::TestWithParam<Case> {};

TEST_P(SelectiveDecode, IsBitExactWithFullDecode) {
    silence_ffmpeg();
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    Case const& c = GetParam();
    TempFolder folder;
    std::string const path = folder.file(c.file);
    if (!make_clip(path, "176x144", 4.0, c.encoder)) {
        GTEST_SKIP() << "this ffmpeg program lacks the encoder";
    }
    std::string const reference = all_frames(path, "yuv420p", folder.file("raw"));
    constexpr std::size_t kFrameBytes = 176 * 144 * 3 / 2;
    ASSERT_EQ(reference.size() % kFrameBytes, 0u);
    auto const frames = static_cast<int>(reference.size() / kFrameBytes);
    ASSERT_GT(frames, 40);
    EXPECT_EQ(probe_clip(path, {})->num_frames, frames);

    std::mt19937 random(1);
    DecodeCounts counts;
    std::int64_t taken = 0;
    for (int trial = 0; trial < 24; ++trial) {
        FrameWindow window{.stride = 1 + trial % 4, .num_frames = 1 + trial % 7};
        int const span = (window.num_frames - 1) * window.stride + 1;
        window.start = trial == 0   ? 0
                       : trial == 1 ? frames - span
                                    : static_cast<int>(random() % (frames - span + 1));
        std::vector<std::string> got;
        auto const result = read_frames(path, window, {}, counts, [&](int index, AVFrame& frame) {
            EXPECT_EQ(index, static_cast<int>(got.size()));
            got.push_back(planes_of(frame));
            return Result<void>();
        });
        ASSERT_TRUE(result) << result.error().message << " at " << window.start;
        ASSERT_EQ(static_cast<int>(got.size()), window.num_frames);
        for (int i = 0; i < window.num_frames; ++i) {
            auto const at = static_cast<std::size_t>(window.start + i * window.stride);
            ASSERT_TRUE(got[static_cast<std::size_t>(i)] ==
                        reference.substr(at * kFrameBytes, kFrameBytes))
                << "frame " << at << " of window from " << window.start;
        }
        taken += window.num_frames;
    }
    RecordProperty("decoded_per_taken_frame",
                   std::to_string(static_cast<double>(counts.frames_decoded) / taken));
    // Without skipping, only what is in the decoder at a window's end does not come out.
    double const came_out =
        static_cast<double>(counts.frames_decoded) / static_cast<double>(counts.packets_read);
    EXPECT_EQ(came_out < 0.85, c.skips) << came_out;

    FrameWindow const beyond{.start = frames, .stride = 1, .num_frames = 1};
    auto const late =
        read_frames(path, beyond, {}, counts, [](int, AVFrame&) { return Result<void>(); });
    ASSERT_TRUE(late.has_error());
    EXPECT_EQ(late.error().code, Errc::corrupt);
    EXPECT_NE(late.error().message.find(std::to_string(frames) + " frames"), std::string::npos)
        << late.error().message;
}

std::vector<Case> cases() {
    std::vector<std::string> const h264{"-c:v", "libx264",  "-preset",
                                        "fast", "-pix_fmt", "yuv420p"};
    std::vector<std::string> const hevc{"-c:v",     "libx265", "-preset",     "fast",
                                        "-pix_fmt", "yuv420p", "-x265-params"};
    auto with = [](std::vector<std::string> base, std::vector<std::string> const& more) {
        base.insert(base.end(), more.begin(), more.end());
        return base;
    };
    return {
        {"h264_mp4", "a.mp4", h264, true},
        {"h264_faststart_gop12", "a.mp4", with(h264, {"-g", "12", "-movflags", "+faststart"}),
         true},
        {"h264_open_gop", "a.mp4",
         with(h264, {"-g", "15", "-bf", "5", "-x264-params", "open-gop=1:b-adapt=0"}), true},
        {"h264_open_gop_ts", "a.ts",
         with(h264, {"-g", "15", "-bf", "5", "-x264-params", "open-gop=1:b-adapt=0"}), true},
        {"h264_no_b_frames", "a.mp4", with(h264, {"-bf", "0", "-g", "20"}), false},
        {"h264_intra_refresh_ts", "a.ts",
         with(h264, {"-g", "20", "-bf", "0", "-x264-params", "intra-refresh=1"}), false},
        {"h264_intra_refresh_mp4", "a.mp4",
         with(h264, {"-g", "20", "-bf", "0", "-x264-params", "intra-refresh=1"}), false},
        {"h264_mkv", "a.mkv", with(h264, {"-g", "20", "-bf", "4"}), true},
        {"h264_ts", "a.ts", with(h264, {"-g", "20"}), true},
        {"h264_fragmented", "a.mp4",
         with(h264, {"-g", "20", "-movflags", "+frag_keyframe+empty_moov"}), true},
        {"h264_variable_rate", "a.mp4",
         with(h264, {"-g", "20", "-vf", "select='not(eq(mod(n\\,7)\\,3))'", "-vsync", "vfr"}),
         true},
        {"hevc_mp4", "a.mp4", with(hevc, {"keyint=25:log-level=none"}), true},
        {"hevc_closed_gop_mkv", "a.mkv", with(hevc, {"keyint=25:open-gop=0:log-level=none"}), true},
        {"hevc_temporal_layers", "a.mp4",
         with(hevc, {"keyint=25:temporal-layers=1:log-level=none"}), true},
        {"hevc_many_references", "a.mp4",
         with(hevc, {"keyint=60:bframes=8:b-adapt=0:ref=5:slices=2:log-level=none"}), true},
        {"hevc_one_reference", "a.mkv",
         with(hevc, {"keyint=60:bframes=4:b-adapt=0:ref=1:weightb=1:log-level=none"}), true},
        {"hevc_no_b_frames", "a.mp4", with(hevc, {"keyint=25:bframes=0:log-level=none"}), false},
        {"hevc_intra_refresh", "a.mp4",
         with(hevc, {"keyint=25:intra-refresh=1:bframes=0:log-level=none"}), false},
        {"hevc_scaling_lists", "a.mp4",
         with(hevc, {"keyint=25:scaling-list=default:log-level=none"}), true},
        {"mpeg4_mp4", "a.mp4", {"-c:v", "mpeg4", "-q:v", "4", "-bf", "2", "-g", "12"}, true},
        {"mpeg4_avi", "a.avi", {"-c:v", "mpeg4", "-q:v", "4", "-g", "12"}, false},
        {"mpeg2_ts", "a.ts", {"-c:v", "mpeg2video", "-q:v", "4", "-bf", "2", "-g", "12"}, true},
        {"vp9_webm",
         "a.webm",
         {"-c:v", "libvpx-vp9", "-cpu-used", "8", "-deadline", "realtime", "-b:v", "300k", "-g",
          "25"},
         false},
        {"av1_mp4",
         "a.mp4",
         {"-c:v", "libsvtav1", "-preset", "12", "-g", "25", "-pix_fmt", "yuv420p"},
         false},
    };
}

INSTANTIATE_TEST_SUITE_P(Codecs, SelectiveDecode, testing::ValuesIn(cases()),
                         [](auto const& info) { return info.param.name; });

// With one reference, pictures shown before a later one depend on it, never the other way round: of
// three in four, only those beside a wanted frame are needed.
TEST(HevcReferencesOfFrames, OnlyWhatAWantedFrameDependsOnIsDecoded) {
    silence_ffmpeg();
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    TempFolder folder;
    std::string const path = folder.file("a.mp4");
    std::string const settings =
        "keyint=250:scenecut=0:bframes=3:b-adapt=0:b-pyramid=1:ref=1:log-level=none";
    if (!make_clip(path, "176x144", 4.0,
                   {"-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params", settings})) {
        GTEST_SKIP() << "this ffmpeg program lacks the encoder";
    }
    DecodeCounts counts;
    auto const result = read_frames(path, {.start = 81, .stride = 1, .num_frames = 1}, {}, counts,
                                    [](int, AVFrame&) { return Result<void>(); });
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_GT(counts.packets_read, 80);
    EXPECT_LE(counts.packets_sent, 81 / 4 + 4);
}

// Recordings that were joined as they are: the second one's times lie before the first one's, and
// it says so (ISO/IEC 13818-1, discontinuity_indicator).
TEST(JoinedFiles, FramesComeInTheOrderOfTheFile) {
    silence_ffmpeg();
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    TempFolder folder;
    std::string both;
    for (std::string const offset : {"20", "0.01"}) {
        std::string const part = folder.file("part.ts");
        ASSERT_TRUE(
            make_clip(part, "176x144", 1.6,
                      {"-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "12", "-mpegts_flags",
                       "+initial_discontinuity", "-output_ts_offset", offset}));
        both += read_all(part);
    }
    std::string const path = folder.file("both.ts");
    write_all(path, both);
    std::string const reference = all_frames(path, "yuv420p", folder.file("raw"));
    constexpr std::size_t kFrameBytes = 176 * 144 * 3 / 2;
    ASSERT_EQ(reference.size(), 80 * kFrameBytes);
    EXPECT_EQ(probe_clip(path, {})->num_frames, 80);
    DecodeCounts counts;
    for (int const start : {0, 20, 36, 39, 50, 77}) {
        std::string got;
        auto const result = read_frames(path, {.start = start, .num_frames = 3}, {}, counts,
                                        [&](int, AVFrame& frame) {
                                            got += planes_of(frame);
                                            return Result<void>();
                                        });
        ASSERT_TRUE(result) << result.error().message << " at " << start;
        EXPECT_TRUE(got == reference.substr(start * kFrameBytes, 3 * kFrameBytes)) << start;
    }
}

// A cut without re-encoding: the file holds frames before the cut that its edit list hides.
TEST(EditList, HiddenFramesAreNotCounted) {
    if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    TempFolder folder;
    std::string const whole = folder.file("whole.mp4");
    ASSERT_TRUE(
        make_clip(whole, "176x144", 4.0, {"-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "40"}));
    std::string const cut = folder.file("cut.mp4");
    ASSERT_TRUE(ffmpeg({"-ss", "0.9", "-i", whole, "-c", "copy", cut}));
    std::string const reference = all_frames(cut, "yuv420p", folder.file("raw"));
    constexpr std::size_t kFrameBytes = 176 * 144 * 3 / 2;
    auto const frames = static_cast<int>(reference.size() / kFrameBytes);
    ASSERT_GT(frames, 60);
    EXPECT_EQ(probe_clip(cut, {})->num_frames, frames);
    DecodeCounts counts;
    for (int start : {0, 1, 20, frames - 3}) {
        std::string got;
        auto const result = read_frames(cut, {.start = start, .num_frames = 3}, {}, counts,
                                        [&](int, AVFrame& frame) {
                                            got += planes_of(frame);
                                            return Result<void>();
                                        });
        ASSERT_TRUE(result) << result.error().message;
        EXPECT_TRUE(got == reference.substr(start * kFrameBytes, 3 * kFrameBytes)) << start;
    }
}

}  // namespace
}  // namespace osora::worker
