// Pixels: layout, crop, colours; images; odd formats; limits.
#include "worker/data/frames/decoder.hpp"

#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/scaler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace osora::worker {
namespace {

using Pixels = std::vector<std::uint8_t>;

class Decoder : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
    }
    Result<Pixels> decode(std::string const& path, FrameWindow window, FrameSize size) {
        Pixels out(static_cast<std::size_t>(window.num_frames) * size.height * size.width * 3);
        OSORA_TRY_VOID(decoder_.decode(path, window, size, out));
        return out;
    }
    TempFolder folder_;
    ClipDecoder decoder_;
};

TEST(CentreCrop, HasTheWantedRatioInTheMiddle) {
    EXPECT_EQ(centre_crop(1920, 1080, {64, 64}), (CropBox{420, 0, 1080, 1080}));
    EXPECT_EQ(centre_crop(1080, 1920, {64, 64}), (CropBox{0, 420, 1080, 1080}));
    EXPECT_EQ(centre_crop(640, 360, {360, 640}), (CropBox{0, 0, 640, 360}));
    EXPECT_EQ(centre_crop(1, 4000, {10, 4000}), (CropBox{0, 1999, 1, 1}));
}

/// RGB of one YUV triple by the equations of ITU-T H.273 (8.3), in full precision.
std::array<double, 3> rgb_of(std::array<std::uint8_t, 3> yuv, double kr, double kb, bool full) {
    double const y = full ? yuv[0] / 255.0 : (yuv[0] - 16) / 219.0;
    double const scale = full ? 255.0 : 224.0;
    double const u = (yuv[1] - 128) / scale;
    double const v = (yuv[2] - 128) / scale;
    double const r = y + 2 * (1 - kr) * v;
    double const b = y + 2 * (1 - kb) * u;
    return {255 * r, 255 * (y - kr * r - kb * b) / (1 - kr - kb), 255 * b};
}

// Two frames a colour, 8-bit 4:2:0 (our conversion) and 4:4:4 (swscale's).
TEST_F(Decoder, ColoursFollowMatrixAndRange) {
    struct Matrix {
        std::string name;
        double kr, kb;
    };
    std::string const path = folder_.file("c.mkv");
    auto const colour = [](std::string const& rgb) {
        return "color=" + rgb + ":size=64x64:rate=25:duration=0.08";
    };
    for (Matrix const& matrix :
         {Matrix{"bt709", 0.2126, 0.0722}, Matrix{"smpte170m", 0.299, 0.114},
          Matrix{"bt2020nc", 0.2627, 0.0593}, Matrix{"unknown", 0.299, 0.114}}) {
        for (std::string const format : {"yuv420p", "yuv444p", "yuvj420p"}) {
            std::string const range = format == "yuvj420p" ? "pc" : "tv";
            ASSERT_TRUE(ffmpeg({"-f",
                                "lavfi",
                                "-i",
                                colour("0x3080C0"),
                                "-f",
                                "lavfi",
                                "-i",
                                colour("0xC03020"),
                                "-f",
                                "lavfi",
                                "-i",
                                colour("0xF0F0F0"),
                                "-filter_complex",
                                "concat=n=3",
                                "-c:v",
                                "libx264",
                                "-qp",
                                "1",
                                "-pix_fmt",
                                format,
                                "-colorspace",
                                matrix.name,
                                "-color_range",
                                range,
                                path}));
            std::string const raw = all_frames(path, format, folder_.file("raw"));
            std::size_t const chroma = format == "yuv444p" ? 4096 : 1024;
            std::size_t const frame_bytes = 4096 + 2 * chroma;
            ASSERT_EQ(raw.size(), 6 * frame_bytes);
            auto const got =
                decode(path, {.stride = 2, .num_frames = 3}, {.height = 16, .width = 16});
            ASSERT_TRUE(got) << got.error().message;
            for (std::size_t frame = 0; frame < 3; ++frame) {
                auto const byte = [&](std::size_t at) {
                    return static_cast<std::uint8_t>(raw.at(2 * frame * frame_bytes + at));
                };
                auto const expected = rgb_of({byte(0), byte(4096), byte(4096 + chroma)}, matrix.kr,
                                             matrix.kb, range == "pc");
                for (std::size_t i = 0; i < 3; ++i) {
                    double const channel = std::clamp(expected[i], 0.0, 255.0);
                    EXPECT_NEAR((*got)[frame * 16 * 16 * 3 + i], channel, 1.0)
                        << matrix.name << " " << format << " frame " << frame << " channel " << i;
                }
            }
        }
    }
}

// Their matrix is named, too (GBR), and they are full range.
TEST_F(Decoder, RgbClipsKeepTheirColours) {
    std::string const path = folder_.file("c.mkv");
    ASSERT_TRUE(ffmpeg({"-f", "lavfi", "-i", "color=0xC03020:size=64x64:duration=0.1,format=gbrp",
                        "-c:v", "libx264rgb", "-qp", "0", "-pix_fmt", "gbrp", path}));
    std::string const raw = all_frames(path, "rgb24", folder_.file("raw"));
    auto const got = decode(path, {}, {.height = 16, .width = 16});
    ASSERT_TRUE(got) << got.error().message;
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_NEAR((*got)[i], static_cast<std::uint8_t>(raw.at(i)), 2) << "channel " << i;
}

/// Mean difference of one channel's values, without the difference of their means.
double shape_difference(Pixels const& a, std::string const& b, std::size_t channel) {
    EXPECT_EQ(a.size(), b.size());
    if (a.size() != b.size()) return 255;
    std::vector<double> difference;
    for (std::size_t i = channel; i < a.size(); i += 3) {
        difference.push_back(static_cast<double>(a[i]) - static_cast<std::uint8_t>(b[i]));
    }
    auto const count = static_cast<double>(difference.size());
    double mean = 0;
    for (double d : difference) mean += d / count;
    double sum = 0;
    for (double d : difference) sum += std::abs(d - mean) / count;
    return sum;
}

// A blurred grey picture, so that filters and chroma sites do not matter, only the geometry.
TEST_F(Decoder, GeometryAndFormatsAgreeWithFfmpeg) {
    struct Case {
        std::string file, size, pix_fmt, codec;
    };
    for (Case const& c :
         {Case{"a.mp4", "320x160", "yuv420p", "libx264"},
          Case{"a.mp4", "160x320", "yuv420p", "libx264"},
          Case{"a.mp4", "197x160", "yuv444p", "libx264"},
          Case{"a.mkv", "198x160", "yuv422p", "ffv1"},
          Case{"a.mkv", "198x160", "yuv420p10le", "ffv1"}, Case{"a.mkv", "197x160", "gray", "ffv1"},
          Case{"a.mkv", "197x160", "bgr0", "ffv1"}, Case{"a.mkv", "197x160", "yuv420p", "ffv1"}}) {
        std::string const path = folder_.file(c.file);
        ASSERT_TRUE(ffmpeg({"-f", "lavfi", "-i", "testsrc2=size=" + c.size + ":duration=0.1", "-vf",
                            "boxblur=12:2,hue=s=0", "-c:v", c.codec, "-pix_fmt", c.pix_fmt, path}));
        std::string const raw = folder_.file("raw");
        ASSERT_TRUE(ffmpeg(
            {"-i", path, "-frames:v", "1", "-vf",
             "crop=160:160,scale=40:40:flags=area+accurate_rnd+full_chroma_int+full_chroma_inp",
             "-pix_fmt", "rgb24", "-f", "rawvideo", raw}));
        auto const got = decode(path, {}, {.height = 40, .width = 40});
        ASSERT_TRUE(got) << c.pix_fmt << ": " << got.error().message;
        for (std::size_t channel = 0; channel < 3; ++channel) {
            EXPECT_LT(shape_difference(*got, read_all(raw), channel), 1.5)
                << c.pix_fmt << " " << c.size << " channel " << channel;
        }
        // Odd output sizes stay inside their memory (address sanitizer).
        EXPECT_TRUE(decode(path, {}, {.height = 33, .width = 17}));
        EXPECT_TRUE(decode(path, {}, {.height = 133, .width = 257}));
    }
}

TEST_F(Decoder, ImagesAreClipsOfOneFrame) {
    for (std::string const name : {"a.png", "b.jpg", "odd %03d 'name\" .png", "c.bmp", "d.webp"}) {
        std::string const path = folder_.file(name);
        bool const made = ffmpeg(
            {"-f", "lavfi", "-i", "color=red:size=50x40", "-frames:v", "1", "-update", "1", "-c:v",
             name.ends_with("png")   ? "png"
             : name.ends_with("jpg") ? "mjpeg"
             : name.ends_with("bmp") ? "bmp"
                                     : "libwebp",
             "-f", name.ends_with("webp") ? "webp" : "image2", "file:" + folder_.file("made")});
        if (!made && name.ends_with("webp")) continue;
        ASSERT_TRUE(made) << name;
        std::filesystem::rename(folder_.file("made"), path);
        auto const facts = decoder_.probe(path);
        ASSERT_TRUE(facts) << name << facts.error().message;
        EXPECT_EQ(facts->num_frames, 1);
        EXPECT_EQ(facts->height, 40);
        EXPECT_EQ(facts->width, 50);
        auto const got = decode(path, {}, {.height = 16, .width = 24});
        ASSERT_TRUE(got) << name << ": " << got.error().message;
        for (std::size_t i = 0; i < got->size(); i += 3) {
            ASSERT_GT((*got)[i], 240) << name;
            ASSERT_LT((*got)[i + 1], 15) << name;
            ASSERT_LT((*got)[i + 2], 15) << name;
        }
        EXPECT_TRUE(decode(path, {.num_frames = 2}, {.height = 16, .width = 24}).has_error());
    }
}

TEST_F(Decoder, FramesLieOneAfterTheOther) {
    std::string const path = folder_.file("a.mp4");
    ASSERT_TRUE(make_clip(path, "64x48", 1.0, {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
    FrameSize const size{.height = 24, .width = 32};
    auto const window = *decode(path, {.start = 3, .stride = 4, .num_frames = 5}, size);
    std::size_t const frame_bytes = window.size() / 5;
    for (int i = 0; i < 5; ++i) {
        auto const one = *decode(path, {.start = 3 + 4 * i}, size);
        EXPECT_EQ(std::memcmp(one.data(), window.data() + i * frame_bytes, frame_bytes), 0) << i;
    }
}

/// mkv, ts and avi have no index to seek by: a film must not be read again for each of its parts.
TEST_F(Decoder, OneFrameAtATimeGivesTheWholeWindow) {
    for (char const* name : {"c.mkv", "c.ts", "c.avi", "c.mp4"}) {
        std::string const path = folder_.file(name);
        ASSERT_TRUE(make_clip(path, "64x48", 2.0,
                              {"-c:v", "libx264", "-g", "12", "-bf", "0", "-pix_fmt", "yuv420p"}));
        FrameWindow const window{.start = 0, .stride = 1, .num_frames = 50};
        FrameSize const size{.height = 24, .width = 32};
        auto const whole = decode(path, window, size);
        ASSERT_TRUE(whole) << name << ": " << whole.error().message;
        Pixels joined;
        int frames = 0;
        auto const done = decoder_.decode_each(path, window, size, [&](int index, auto rgb) {
            EXPECT_EQ(index, frames++);
            joined.insert(joined.end(), rgb.begin(), rgb.end());
        });
        ASSERT_TRUE(done) << name << ": " << done.error().message;
        EXPECT_EQ(frames, 50) << name;
        EXPECT_TRUE(joined == *whole) << name;
        EXPECT_LE(decoder_.counts().packets_sent, 50) << name;
    }
}

TEST_F(Decoder, RefusesPicturesOverTheLimit) {
    std::string const path = folder_.file("a.mp4");
    ASSERT_TRUE(make_clip(path, "320x192", 0.2, {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
    ClipDecoder small({.pixels_max = 320 * 191});
    Pixels out(16 * 16 * 3);
    EXPECT_EQ(small.decode(path, {}, {16, 16}, out).error().code, Errc::out_of_memory);
}

TEST_F(Decoder, EndsAtItsDeadlineAndWhenCancelled) {
    std::string const path = folder_.file("a.mp4");
    ASSERT_TRUE(make_clip(path, "320x192", 1.0, {"-c:v", "libx264", "-pix_fmt", "yuv420p"}));
    Pixels out(16 * 16 * 3);
    ClipDecoder late({.deadline_s = 0.0});
    EXPECT_EQ(late.decode(path, {}, {16, 16}, out).error().code, Errc::timed_out);
    std::atomic<bool> const cancel = true;
    ClipDecoder cancelled({.cancel = &cancel});
    EXPECT_EQ(cancelled.decode(path, {}, {16, 16}, out).error().code, Errc::cancelled);
}

}  // namespace
}  // namespace osora::worker
