// What is taken from a file is what a player shows of it: turned, with square pixels, in its
// colours; without covers, and as many frames as the ffmpeg program shows.
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/frames/display.hpp"
#include "worker/data/frames/shown_frames.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace osora::worker {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Matrix = DisplayMatrix;
constexpr std::int32_t kOne = 1 << 16;

Matrix matrix(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d) {
    return {a * kOne, b * kOne, 0, c * kOne, d * kOne, 0, 0, 0, 1 << 30};
}

// ISO/IEC 14496-12, 8.3.2: (x, y) is shown at (a x + c y, b x + d y).
TEST(Display, MatricesOfPhonesAreTurns) {
    EXPECT_EQ(*display_of({}), Display{});
    EXPECT_EQ(*display_of(matrix(1, 0, 0, 1)), Display{});
    EXPECT_EQ(*display_of(Matrix{}), Display{});
    auto const turned = [](bool transposed, bool x, bool y) {
        return Display{.transposed = transposed, .mirrored_x = x, .mirrored_y = y};
    };
    EXPECT_EQ(*display_of(matrix(0, 1, -1, 0)), turned(true, true, false));
    EXPECT_EQ(*display_of(matrix(-1, 0, 0, -1)), turned(false, true, true));
    EXPECT_EQ(*display_of(matrix(0, -1, 1, 0)), turned(true, false, true));
    EXPECT_EQ(*display_of(matrix(-1, 0, 0, 1)), turned(false, true, false));  // a selfie
    EXPECT_EQ(*display_of(matrix(0, 1, 1, 0)), turned(true, false, false));
    Matrix nearly = matrix(0, 1, -1, 0);
    nearly[0] = nearly[4] = kOne / 100;
    EXPECT_EQ(*display_of(nearly), turned(true, true, false));
    auto const skewed = display_of(matrix(1, 1, -1, 1));
    ASSERT_TRUE(skewed.has_error());
    EXPECT_NE(skewed.error().message.find("45.0 degrees"), std::string::npos);
}

TEST(Display, PixelsAreTurnedOneByOne) {
    // 1 2 3
    // 4 5 6
    Bytes stored;
    for (std::uint8_t i = 1; i <= 6; ++i) stored.insert(stored.end(), 3, i);
    auto const shown = [&](Display const& display, FrameSize size) {
        Bytes out(stored.size()), one;
        turn_rgb(stored, display, size, out);
        for (std::size_t i = 0; i < out.size(); i += 3) one.push_back(out[i]);
        return one;
    };
    EXPECT_EQ(shown(*display_of(matrix(0, 1, -1, 0)), {3, 2}), (Bytes{4, 1, 5, 2, 6, 3}));
    EXPECT_EQ(shown(*display_of(matrix(-1, 0, 0, -1)), {2, 3}), (Bytes{6, 5, 4, 3, 2, 1}));
    EXPECT_EQ(shown(*display_of(matrix(0, -1, 1, 0)), {3, 2}), (Bytes{3, 6, 2, 5, 1, 4}));
    EXPECT_EQ(shown(*display_of(matrix(-1, 0, 0, 1)), {2, 3}), (Bytes{3, 2, 1, 6, 5, 4}));
    EXPECT_EQ(shown(*display_of(matrix(0, 1, 1, 0)), {3, 2}), (Bytes{1, 4, 2, 5, 3, 6}));
}

TEST(Display, TheWidthIsStretched) {
    auto const size = [](int width, int height, Display const& display) {
        auto const shown = displayed_size({.height = height, .width = width}, display);
        return std::pair(shown.width, shown.height);
    };
    EXPECT_EQ(size(720, 576, {.pixel_width = 64, .pixel_height = 45}), std::pair(1024, 576));
    EXPECT_EQ(size(720, 480, {.pixel_width = 8, .pixel_height = 9}), std::pair(640, 480));
    EXPECT_EQ(size(1440, 1080, {.transposed = true, .pixel_width = 4, .pixel_height = 3}),
              std::pair(1080, 1920));
}

// RFC 6386, 9.1; VP9 bitstream specification, 6.2 and annex B.
TEST(ShownFrames, KnowsPicturesThatAreNeverShown) {
    EXPECT_FALSE(is_never_shown(AV_CODEC_ID_VP8, Bytes{0x10, 0, 0}));
    EXPECT_TRUE(is_never_shown(AV_CODEC_ID_VP8, Bytes{0x01, 0, 0}));
    EXPECT_FALSE(is_never_shown(AV_CODEC_ID_VP8, {}));
    Bytes const shown{0x86, 1}, hidden{0x84, 1}, again{0x88};
    EXPECT_FALSE(is_never_shown(AV_CODEC_ID_VP9, shown));
    EXPECT_TRUE(is_never_shown(AV_CODEC_ID_VP9, hidden));
    EXPECT_FALSE(is_never_shown(AV_CODEC_ID_VP9, again));        // show_existing_frame
    EXPECT_FALSE(is_never_shown(AV_CODEC_ID_VP9, Bytes{0xB1}));  // profile 3
    EXPECT_TRUE(is_never_shown(AV_CODEC_ID_VP9, Bytes{0xB0}));
    // A superframe of a hidden and a shown picture, sizes of one byte.
    EXPECT_FALSE(is_never_shown(AV_CODEC_ID_VP9, Bytes{0x84, 1, 0x86, 1, 0xC1, 2, 2, 0xC1}));
    EXPECT_TRUE(is_never_shown(AV_CODEC_ID_VP9, Bytes{0x84, 1, 0x84, 1, 0xC1, 2, 2, 0xC1}));
    EXPECT_FALSE(is_never_shown(AV_CODEC_ID_H264, Bytes{0, 0}));
}

class Shown : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    }
    /// testsrc2, so that every direction looks different, blurred, so that filters do not matter.
    void make(std::string const& name, std::string const& size, int frames,
              std::vector<std::string> const& more) {
        std::vector<std::string> words{
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=" + size +
                ":rate=25,boxblur=8:2,trim=end_frame=" + std::to_string(frames),
            "-threads",
            "1"};
        words.insert(words.end(), more.begin(), more.end());
        words.push_back("file:" + folder_.file(name));
        ASSERT_TRUE(ffmpeg(words)) << name;
    }
    void turn(std::string const& name, Matrix const& to) {
        write_turned(folder_.file(name), folder_.file(name), to);
    }
    /// The first frame as the ffmpeg program shows it, with square pixels.
    std::string reference(std::string const& name, FrameSize size) {
        std::string const scale = "scale=" + std::to_string(size.width) + ":" +
                                  std::to_string(size.height) +
                                  ":flags=area+accurate_rnd+full_chroma_int";
        EXPECT_TRUE(ffmpeg({"-i", folder_.file(name), "-frames:v", "1", "-vf", scale, "-pix_fmt",
                            "rgb24", "-f", "rawvideo", folder_.file("raw")}));
        return read_all(folder_.file("raw"));
    }
    double difference(std::string const& name, FrameSize size, std::string const& expected) {
        Bytes out(static_cast<std::size_t>(size.height) * size.width * 3);
        auto const done = decoder_.decode(folder_.file(name), {}, size, out);
        EXPECT_TRUE(done) << name << ": " << done.error().message;
        EXPECT_EQ(out.size(), expected.size());
        if (!done || out.size() != expected.size()) return 255;
        double sum = 0;
        for (std::size_t i = 0; i < out.size(); ++i)
            sum += std::abs(out[i] - static_cast<std::uint8_t>(expected[i]));
        return sum / static_cast<double>(out.size());
    }
    ClipFacts facts(std::string const& name) {
        auto const found = decoder_.probe(folder_.file(name));
        EXPECT_TRUE(found) << name << ": " << found.error().message;
        return found ? *found : ClipFacts{};
    }
    int frames_of(std::string const& name, std::size_t frame_bytes) {
        auto const all = all_frames(folder_.file(name), "yuv420p", folder_.file("raw"));
        return static_cast<int>(all.size() / frame_bytes);
    }

    TempFolder folder_;
    ClipDecoder decoder_;
};

// meta-pytorch/torchcodec#1084: clips of phones came out sideways.
TEST_F(Shown, TurnedClipsAreShownAsPlayersDo) {
    struct Turn {
        Matrix matrix;
        bool swaps;
    };
    for (auto const& [to, swaps] :
         {Turn{matrix(0, 1, -1, 0), true}, Turn{matrix(-1, 0, 0, -1), false},
          Turn{matrix(0, -1, 1, 0), true}, Turn{matrix(-1, 0, 0, 1), false},
          Turn{matrix(1, 0, 0, -1), false}}) {
        for (std::string const format : {"yuv420p", "yuv444p"}) {
            make("a.mp4", "160x96", 4, {"-c:v", "libx264", "-crf", "6", "-pix_fmt", format});
            turn("a.mp4", to);
            ClipFacts const found = facts("a.mp4");
            EXPECT_EQ(found.height, swaps ? 160 : 96);
            EXPECT_EQ(found.width, swaps ? 96 : 160);
            EXPECT_EQ(found.stored_width, 160);
            FrameSize const half{.height = found.height / 2, .width = found.width / 2};
            bool const flipped_only = to[0] * to[4] < 0;
            if (flipped_only && to[0] < 0) continue;  // FFmpeg 5.1's program overlooks this mirror
            EXPECT_LT(difference("a.mp4", half, reference("a.mp4", half)), 3) << format << to[1];
        }
    }
}

TEST_F(Shown, PixelsThatAreNotSquareAreStretched) {
    for (std::string const ratio : {"64/45", "3/4"}) {
        make("a.mp4", "144x96", 2,
             {"-vf", "setsar=" + ratio, "-c:v", "libx264", "-crf", "6", "-pix_fmt", "yuv420p"});
        ClipFacts const found = facts("a.mp4");
        EXPECT_EQ(found.width, ratio == "3/4" ? 108 : 205);
        EXPECT_EQ(found.height, 96);
        FrameSize const size{.height = found.height, .width = found.width};
        EXPECT_LT(difference("a.mp4", size, reference("a.mp4", size)), 4) << ratio;
    }
}

// mp4 without a pasp box: the ratio is in the codec's own headers.
TEST_F(Shown, RatiosThatOnlyTheBitstreamHasCount) {
    for (auto const& [encoder, filter] : std::vector<std::pair<std::string, std::string>>{
             {"libx264", "h264_metadata"}, {"libx265", "hevc_metadata"}}) {
        make("square.mp4", "144x96", 2, {"-c:v", encoder, "-pix_fmt", "yuv420p"});
        ASSERT_TRUE(ffmpeg({"-i", folder_.file("square.mp4"), "-c", "copy", "-bsf:v",
                            filter + "=sample_aspect_ratio=4/3", folder_.file("a.mp4")}));
        std::string bytes = read_all(folder_.file("a.mp4"));
        ASSERT_NE(bytes.find("pasp"), std::string::npos);
        bytes.replace(bytes.find("pasp"), 4, "skip");
        write_all(folder_.file("a.mp4"), bytes);
        EXPECT_EQ(facts("a.mp4").width, 192) << encoder;
        EXPECT_EQ(facts("a.mp4").height, 96) << encoder;
        EXPECT_EQ(facts("a.mp4").num_frames, 2) << encoder;
        EXPECT_EQ(decoder_.probe_sizes(folder_.file("a.mp4"))->shown.width, 192) << encoder;
        Bytes out(48 * 64 * 3);
        ASSERT_TRUE(decoder_.decode(folder_.file("a.mp4"), {}, {48, 64}, out));
        EXPECT_EQ(decoder_.sizes().shown.width, 192) << encoder;
        EXPECT_EQ(decoder_.sizes().stored.width, 144) << encoder;
    }
}

/// EXIF says how a photo was held (CIPA DC-008, 4.6.4, tag 274).
TEST_F(Shown, PhotosAreTurnedByExif) {
    make("plain.jpg", "160x96", 1, {"-q:v", "2"});
    std::string const plain = read_all(folder_.file("plain.jpg"));
    std::string const tiff{"II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0", 26};
    std::string const exif = std::string("\xFF\xE1\0\x22", 4) + std::string("Exif\0\0", 6) + tiff;
    write_all(folder_.file("held.jpg"), plain.substr(0, 2) + exif + plain.substr(2));
    ClipFacts const found = facts("held.jpg");
    EXPECT_EQ(found.height, 160);
    EXPECT_EQ(found.width, 96);
    EXPECT_EQ(found.stored_width, 160);
    EXPECT_EQ(found.num_frames, 1);
    Bytes stored(96 * 160 * 3), shown(96 * 160 * 3);
    ASSERT_TRUE(decoder_.decode(folder_.file("plain.jpg"), {}, {96, 160}, stored));
    ASSERT_TRUE(decoder_.decode(folder_.file("held.jpg"), {}, {160, 96}, shown));
    // Orientation 6: the first row of the file is the right-hand side.
    for (std::size_t y : {0u, 77u, 159u}) {
        for (std::size_t x : {0u, 31u, 95u}) {
            std::size_t const from = ((95 - x) * 160 + y) * 3, to = (y * 96 + x) * 3;
            EXPECT_EQ(shown[to], stored[from]) << x << ' ' << y;
        }
    }
}

TEST_F(Shown, GreyPicturesKeepTheirContrast) {
    make("a.png", "64x48", 1, {"-pix_fmt", "gray"});
    EXPECT_LT(difference("a.png", {48, 64}, reference("a.png", {48, 64})), 1);
}

// quodlibet/mutagen#661, yt-dlp/yt-dlp#2091, amule-org/amule#1075.
TEST_F(Shown, CoversAreNoVideo) {
    make("plain.mp4", "160x96", 8, {"-c:v", "libx264", "-pix_fmt", "yuv420p"});
    make("cover.jpg", "320x320", 1, {"-q:v", "5"});
    make("cover.png", "320x320", 1, {});
    auto const file = [&](std::string const& name) { return folder_.file(name); };
    ASSERT_TRUE(ffmpeg({"-i", file("cover.jpg"), "-i", file("plain.mp4"), "-map", "0", "-map", "1",
                        "-c", "copy", "-disposition:v:0", "attached_pic", file("cover.mp4")}));
    ASSERT_TRUE(ffmpeg({"-i", file("cover.png"), "-c:v", "copy", "-f", "mp4", file("png.mp4")}));
    ASSERT_TRUE(ffmpeg({"-i", file("png.mp4"), "-i", file("plain.mp4"), "-map", "0:v", "-map",
                        "1:v", "-c", "copy", "-disposition:v:0", "default", "-disposition:v:1", "0",
                        file("track.mp4")}));
    ASSERT_TRUE(ffmpeg({"-i", file("plain.mp4"), "-attach", file("cover.jpg"), "-metadata:s:t",
                        "mimetype=image/jpeg", "-c", "copy", file("a.mkv")}));
    std::string const plain = reference("plain.mp4", {96, 160});
    for (std::string const name : {"cover.mp4", "track.mp4", "a.mkv"}) {
        EXPECT_EQ(facts(name).num_frames, 8) << name;
        EXPECT_LT(difference(name, {96, 160}, plain), 3) << name;
    }
    std::vector<std::string> const sound{"-f", "lavfi", "-i", "sine=duration=1"};
    auto const record = [&](std::vector<std::string> const& more) {
        auto words = sound;
        words.insert(words.end(), more.begin(), more.end());
        return ffmpeg(words);
    };
    ASSERT_TRUE(record({"-i", file("cover.jpg"), "-map", "0", "-map", "1", "-c:a", "aac", "-c:v",
                        "copy", "-disposition:v:0", "attached_pic", file("a.m4a")}));
    ASSERT_TRUE(record({file("a.mp3")}));
    ASSERT_TRUE(record({file("a.flac")}));
    ASSERT_TRUE(record({file("a.wav")}));
    std::filesystem::copy_file(file("a.mp3"), file("named.mp4"));
    std::string const whole = read_all(file("plain.mp4"));
    write_all(file("cut.mp4"), whole.substr(0, whole.rfind("moov") - 4));  // a video all the same
    for (auto const& [name, words] : std::vector<std::pair<std::string, std::string>>{
             {"a.m4a", "no video stream in it, but sound and a cover picture"},
             {"a.mp3", "no video but mp3"},
             {"a.flac", "no video but flac"},
             {"a.wav", "no video but wav"},
             {"named.mp4", "no video but mp3"},
             {"cut.mp4", "open: Invalid data found when processing input"}}) {
        auto const found = decoder_.probe(file(name));
        ASSERT_TRUE(found.has_error()) << name;
        EXPECT_NE(found.error().message.find(words), std::string::npos) << found.error().message;
    }
}

// FFMS/ffms2#88: packets of alternate references counted as pictures.
TEST_F(Shown, HiddenPicturesDoNotCount) {
    std::vector<std::string> const vp8{"-c:v",
                                       "libvpx",
                                       "-b:v",
                                       "80k",
                                       "-auto-alt-ref",
                                       "1",
                                       "-lag-in-frames",
                                       "25",
                                       "-arnr-maxframes",
                                       "5",
                                       "-threads",
                                       "1",
                                       "-passlogfile",
                                       folder_.file("pass")};
    auto first = vp8, second = vp8;
    first.insert(first.end(), {"-pass", "1", "-f", "webm"});
    second.insert(second.end(), {"-pass", "2"});
    make("a.webm", "160x120", 40, first);
    make("a.webm", "160x120", 40, second);
    constexpr std::size_t kFrameBytes = 160 * 120 * 3 / 2;
    ASSERT_EQ(frames_of("a.webm", kFrameBytes), 40);
    EXPECT_EQ(facts("a.webm").num_frames, 40);
    for (int start : {0, 1, 2, 39}) {
        Bytes out(48 * 64 * 3 * static_cast<std::size_t>(40 - start));
        EXPECT_TRUE(decoder_.decode(folder_.file("a.webm"),
                                    {.start = start, .num_frames = 40 - start}, {48, 64}, out))
            << start;
    }
}

// Cut in an open group: the pictures in front of the first keyframe lack what they refer to.
TEST_F(Shown, LeadingPicturesWithoutReferencesDoNotCount) {
    constexpr std::size_t kFrameBytes = 160 * 96 * 3 / 2;
    struct Cut {
        std::string name;
        std::vector<std::string> encoder;
    };
    for (auto const& [name, encoder] :
         {Cut{"h264",
              {"-c:v", "libx264", "-g", "15", "-bf", "3", "-x264-params", "open-gop=1:b-adapt=0",
               "-pix_fmt", "yuv420p"}},
          Cut{"hevc",
              {"-c:v", "libx265", "-pix_fmt", "yuv420p", "-x265-params",
               "keyint=15:open-gop=1:bframes=3:b-adapt=0:log-level=none"}},
          Cut{"mpeg2", {"-c:v", "mpeg2video", "-q:v", "4", "-bf", "2", "-g", "12"}}}) {
        make(name + ".ts", "160x96", 60, encoder);
        ASSERT_TRUE(ffmpeg({"-ss", "0.9", "-i", folder_.file(name + ".ts"), "-c", "copy", "-f",
                            "mpegts", folder_.file("cut.ts")}));
        int const frames = frames_of("cut.ts", kFrameBytes);
        ASSERT_GT(frames, 20);
        EXPECT_EQ(facts("cut.ts").num_frames, frames) << name;
        Bytes out(48 * 80 * 3 * static_cast<std::size_t>(frames));
        auto const all =
            decoder_.decode(folder_.file("cut.ts"), {.num_frames = frames}, {48, 80}, out);
        EXPECT_TRUE(all) << name << ": " << all.error().message;
        Bytes one(48 * 80 * 3);
        ASSERT_TRUE(decoder_.decode(folder_.file("cut.ts"), {}, {48, 80}, one)) << name;
        EXPECT_TRUE(std::equal(one.begin(), one.end(), out.begin())) << name;
        // In mp4, whose index lists what is dropped, too: any window has the frames it asks for.
        ASSERT_TRUE(ffmpeg({"-i", folder_.file("cut.ts"), "-c", "copy", "-use_editlist", "0",
                            folder_.file("cut.mp4")}));
        ASSERT_EQ(frames_of("cut.mp4", kFrameBytes), frames) << name;
        EXPECT_EQ(facts("cut.mp4").num_frames, frames) << name;
        for (int start = 0; start < frames; ++start) {
            ASSERT_TRUE(decoder_.decode(folder_.file("cut.mp4"), {.start = start}, {48, 80}, one))
                << name << start;
            auto const from = out.begin() + start * static_cast<std::ptrdiff_t>(one.size());
            EXPECT_TRUE(std::equal(one.begin(), one.end(), from)) << name << start;
        }
    }
}

TEST_F(Shown, AviWithoutTimesCountsAsFfmpegDoes) {
    constexpr std::size_t kFrameBytes = 160 * 96 * 3 / 2;
    for (auto const& encoder : std::vector<std::vector<std::string>>{
             {"-c:v", "mpeg4", "-bf", "2", "-g", "12"},
             {"-c:v", "libx264", "-bf", "2", "-pix_fmt", "yuv420p"},
             {"-c:v", "libxvid", "-bf", "2"},
             {"-c:v", "mjpeg", "-pix_fmt", "yuvj420p"}}) {
        std::vector<std::string> words{
            "-f",        "lavfi", "-i",       "testsrc2=size=160x96:rate=25",
            "-frames:v", "40",    "-threads", "1"};
        words.insert(words.end(), encoder.begin(), encoder.end());
        words.push_back(folder_.file("a.avi"));
        if (!ffmpeg(words)) continue;  // this program lacks the encoder
        int const frames = frames_of("a.avi", kFrameBytes);
        EXPECT_EQ(facts("a.avi").num_frames, frames) << encoder[1];
        EXPECT_DOUBLE_EQ(facts("a.avi").fps, 25) << encoder[1];
        Bytes out(48 * 80 * 3 * static_cast<std::size_t>(frames));
        auto const all =
            decoder_.decode(folder_.file("a.avi"), {.num_frames = frames}, {48, 80}, out);
        EXPECT_TRUE(all) << encoder[1] << ": " << all.error().message;
    }
}

}  // namespace
}  // namespace osora::worker
