// The picture has the pixels that the loader gives the trainer, and that ffmpeg shows of the frames
// that the answer names.
#include "worker/clips/look/look.hpp"

#include "base/text/units.hpp"
#include "plan/buckets/assign.hpp"
#include "plan/buckets/schedule.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/clips/look/clip_sheet.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/loader.hpp"
#include "worker/data/manifest.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace osora::worker {
namespace {

constexpr int kGap = 4;  // pixels between frames of the picture

class Look : public testing::Test {
protected:
    void SetUp() override {
        silence_ffmpeg();
        if (!have_ffmpeg()) GTEST_SKIP() << "no ffmpeg program";
        make("wide.mp4", "96x64", 2.0);
        make("tall.mp4", "64x96", 1.2);
        write_all(folder_.file("clips.csv"), "path\nwide.mp4\ntall.mp4\n");
    }
    /// Without the noise of single pixels, so that filters of other programs give about the same.
    void make(std::string const& name, std::string const& size, double seconds) {
        ASSERT_TRUE(make_clip(folder_.file(name), size, seconds,
                              {"-vf", "gblur=sigma=1.5", "-c:v", "libx264", "-crf", "12",
                               "-pix_fmt", "yuv420p", "-g", "12"}));
    }
    [[nodiscard]] protocol::ClipLookRequest request() const {
        return {.manifest = folder_.file("clips.csv"),
                .columns = {},
                .buckets = {{"48", 12}},
                .multiple = 8,
                .images_from_videos = true,
                .seed = 5,
                .chosen = {},
                .out = folder_.file("look.png")};
    }
    [[nodiscard]] protocol::ClipLook look(protocol::ClipLookRequest const& request) {
        auto const looked = look_clips(request);
        EXPECT_TRUE(looked) << looked.error().message;
        if (looked.has_error()) return {.out = {}, .clips = {}};
        picture_ = all_frames(request.out, "rgb24", folder_.file("look.rgb"));
        EXPECT_EQ(picture_.size(), static_cast<std::size_t>(looked->height) * looked->width * 3);
        width_ = looked->width;
        return *looked;
    }
    /// Pixels of a frame in the picture.
    [[nodiscard]] std::string cell(int top, int place, int height, int width) const {
        std::string pixels;
        for (int y = 0; y < height; ++y) {
            std::size_t const at =
                static_cast<std::size_t>(top + y) * width_ + kGap + place * (width + kGap);
            pixels += picture_.substr(at * 3, static_cast<std::size_t>(width) * 3);
        }
        return pixels;
    }
    [[nodiscard]] std::string error(protocol::ClipLookRequest const& request) {
        auto const looked = look_clips(request);
        return looked.has_error() ? looked.error().message : "no error";
    }

    TempFolder folder_;
    std::string picture_;
    int width_ = 0;
};

/// Mean distance of the luma of two RGB pictures, of 255. Other programs scale chroma differently.
double distance(std::string_view a, std::string_view b) {
    EXPECT_EQ(a.size(), b.size());
    auto const luma = [](std::string_view rgb, std::size_t i) {
        auto const part = [&](std::size_t c) { return static_cast<unsigned char>(rgb[i + c]); };
        return 0.299 * part(0) + 0.587 * part(1) + 0.114 * part(2);
    };
    double sum = 0;
    std::size_t const bytes = std::min(a.size(), b.size());
    for (std::size_t i = 0; i < bytes; i += 3) sum += std::abs(luma(a, i) - luma(b, i));
    return 3 * sum / static_cast<double>(bytes);
}

TEST_F(Look, FramesAndCropAreThoseThatFfmpegShows) {
    auto const looked = look(request());
    ASSERT_EQ(looked.clips.size(), 2u);
    int top = kGap;
    for (auto const& clip : looked.clips) {
        EXPECT_EQ(clip.kind, "") << clip.reason;
        ASSERT_EQ(clip.shown.size(), 8u);
        EXPECT_EQ(clip.shown.front(), clip.frames.front());
        EXPECT_EQ(clip.shown.back(), clip.frames.front() + 11);
        EXPECT_NEAR(clip.scale, static_cast<double>(clip.height) / clip.crop_height, 0.02);
        std::string const cut = folder_.file("cut.rgb");
        ASSERT_TRUE(ffmpeg(
            {"-i", folder_.file(clip.path), "-vsync", "passthrough", "-vf",
             fmt::format("crop={}:{}:{}:{},scale={}:{}:flags=area", clip.crop_width,
                         clip.crop_height, clip.crop_x, clip.crop_y, clip.width, clip.height),
             "-pix_fmt", "rgb24", "-f", "rawvideo", cut}));
        std::string const all = read_all(cut);
        std::size_t const bytes = static_cast<std::size_t>(clip.height) * clip.width * 3;
        ASSERT_EQ(all.size(), bytes * static_cast<std::size_t>(clip.source_frames));
        for (int place = 0; place < 8; ++place) {
            std::string const drawn = cell(top, place, clip.height, clip.width);
            int nearest = 0;
            double least = 255;
            for (int frame = 0; frame < clip.source_frames; ++frame) {
                double const far =
                    distance(drawn, std::string_view(all).substr(frame * bytes, bytes));
                if (far < least) nearest = frame;
                least = std::min(far, least);
            }
            EXPECT_EQ(nearest, clip.shown[static_cast<std::size_t>(place)]) << clip.path;
            EXPECT_LT(least, 2.5) << clip.path << " " << place;  // 2 pixels aside: 5.6
        }
        top += clip.height + kGap;
    }
    EXPECT_EQ(looked.height, top);
    EXPECT_EQ(looked.clips[0].source_width, 96);
    EXPECT_EQ(looked.clips[0].source_frames, 50);
    EXPECT_EQ(looked.clips[0].fps, 25);
}

TEST_F(Look, PixelsAreThoseOfTheLoader) {
    make("other.mp4", "96x64", 2.4);
    write_all(folder_.file("clips.csv"), "path\nwide.mp4\nother.mp4\ntall.mp4\n");
    auto const looked = look(request());
    ASSERT_EQ(looked.clips.size(), 3u);
    auto const manifest =
        read_manifest(folder_.file("clips.csv"), {.keep_gone = true, .check_sizes = true});
    ASSERT_TRUE(manifest);
    std::vector<plan::ClipShape> shapes;
    for (Clip const& clip : manifest->clips)
        shapes.push_back({clip.num_frames, clip.height, clip.width});
    auto const table =
        *plan::BucketTable::make({{"48", 12}}, {.multiple = 8, .images_from_videos = true});
    std::vector<std::int64_t> const batches{2};
    auto const schedule =
        *plan::StepSchedule::make(plan::fill_buckets(table, shapes), batches, {.seed = 5});
    auto const loader =
        *Loader::start(schedule, *manifest, {.num_workers = 0, .host_memory_bytes = kGiB});
    std::vector<std::uint64_t> first(3, UINT64_MAX);  // position of each clip's first sample
    std::vector<std::string> pixels(3);
    for (std::uint64_t step = 0; step < 24; ++step) {
        auto const batch = loader->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        std::size_t const bytes = batch->pixels().size() / batch->samples().size();
        for (std::size_t i = 0; i < batch->samples().size(); ++i) {
            LoadedSample const& sample = batch->samples()[i];
            if (sample.ref.position >= first[sample.clip]) continue;
            first[sample.clip] = sample.ref.position;
            auto const own = batch->pixels().subspan(i * bytes, bytes);
            pixels[sample.clip].assign(own.begin(), own.end());
            EXPECT_EQ(sample.start_frame, looked.clips[sample.clip].frames.front());
        }
    }
    int top = kGap;
    for (std::size_t clip = 0; clip < 3; ++clip) {
        auto const& row = looked.clips[clip];
        std::size_t const bytes = static_cast<std::size_t>(row.height) * row.width * 3;
        ASSERT_EQ(pixels[clip].size(), 12 * bytes) << clip;
        for (int place = 0; place < 8; ++place) {
            auto const frame = static_cast<std::size_t>(row.shown[place] - row.frames.front());
            EXPECT_TRUE(cell(top, place, row.height, row.width) ==
                        pixels[clip].substr(frame * bytes, bytes))
                << clip << " " << place;
        }
        top += row.height + kGap;
    }
}

TEST_F(Look, WideRowsAreReducedByMeans) {
    auto const whole = look(request());
    int const height = whole.clips[0].height, width = whole.clips[0].width;
    std::string const frame = cell(kGap, 3, height, width);
    auto narrow = request();
    narrow.width_max = 300;  // 8 x (56 / 2 + 4) + 4
    auto const half = look(narrow);
    EXPECT_LE(half.width, 300);
    EXPECT_EQ(half.clips[0].reduced, 2);
    std::string const small = cell(kGap, 3, height / 2, width / 2);
    for (int y = 0; y < height / 2; ++y) {
        for (int x = 0; x < width / 2; ++x) {
            for (int c = 0; c < 3; ++c) {
                auto const at = [&](int dy, int dx) {
                    return static_cast<unsigned char>(
                        frame[((2 * y + dy) * width + 2 * x + dx) * 3 + c]);
                };
                int const mean = (at(0, 0) + at(0, 1) + at(1, 0) + at(1, 1) + 2) / 4;
                ASSERT_EQ(static_cast<unsigned char>(small[(y * (width / 2) + x) * 3 + c]), mean);
            }
        }
    }
}

TEST_F(Look, ClipsWithoutPixelsAreGreyAndSayWhy) {
    make("small.mp4", "32x16", 2.0);
    write_all(folder_.file("empty.mp4"), "");
    std::string cut = read_all(folder_.file("wide.mp4"));
    write_all(folder_.file("cut.mp4"), cut.substr(0, cut.size() / 2));
    write_all(folder_.file("clips.csv"),
              "path,num_frames,height,width,fps\n"
              "wide.mp4,50,64,96,25\ncut.mp4,50,64,96,25\nsmall.mp4,,,,\nempty.mp4,,,,\n"
              "gone.mp4,50,64,96,25\nwide.mp4,x,64,96,25\nwide.mp4,90,64,96,25\n"
              "tall.mp4,50,64,96,25\n");
    auto const looked = look(request());
    std::vector<std::string> kinds;
    for (auto const& clip : looked.clips) {
        kinds.push_back(fmt::format("{} {}{}", clip.path, clip.kind, clip.damaged ? "!" : ""));
        EXPECT_EQ(clip.kind.empty(), !clip.frames.empty());
    }
    EXPECT_THAT(kinds, testing::ElementsAre("wide.mp4 ", "cut.mp4 damaged!", "small.mp4 small",
                                            "empty.mp4 empty!", "gone.mp4 missing!",
                                            "wide.mp4 row!", "wide.mp4 ", "tall.mp4 "));
    EXPECT_THAT(looked.clips[6].reason, testing::HasSubstr("listed with 90 frames, has 50"));
    EXPECT_LE(looked.clips[6].frames.back(), 49);
    EXPECT_EQ(looked.clips[7].source_width, 64);  // the file's size, as training takes it
    int const height = looked.clips[0].height, width = looked.clips[0].width;
    std::string const grey = cell(kGap + height + kGap, 5, height, width);
    EXPECT_EQ(grey, std::string(grey.size(), grey[0]));
    EXPECT_NE(cell(kGap, 5, height, width), grey);
}

TEST_F(Look, ClipsAreChosenByPathLineAndBucket) {
    auto chosen = request();
    chosen.chosen = {"3", "wide.mp4", folder_.file("tall.mp4")};
    std::vector<int> lines;
    for (auto const& clip : look(chosen).clips) lines.push_back(clip.line);
    EXPECT_EQ(lines, (std::vector{3, 2, 3}));
    chosen.chosen = {"wid.mp4"};
    EXPECT_THAT(error(chosen), testing::HasSubstr("did you mean wide.mp4?"));
    chosen.chosen = {"7"};
    EXPECT_THAT(error(chosen), testing::HasSubstr("its clips are in lines 2 to 3"));

    auto two = request();
    two.buckets = {{"48", 40, 0.5}, {"48", 12}};  // half of the passes of wide.mp4 go to each
    two.entry = 0;
    auto const first = look(two);
    ASSERT_EQ(first.clips.size(), 1u);
    EXPECT_EQ(first.clips[0].num_frames, 40);
    EXPECT_NEAR(first.clips[0].share, 0.5, 1e-6);
    two.entry = 1;
    EXPECT_EQ(look(two).clips.size(), 2u);
    two.buckets[0].num_frames = 200;
    two.entry = 0;
    EXPECT_THAT(error(two), testing::HasSubstr("no clip is in bucket 48:200"));
    two.chosen = {"2"};
    EXPECT_EQ(look(two).clips[0].kind, "other");
}

// Larger than decoders take by default: the loader allows what is listed.
TEST_F(Look, PicturesMayBeAsLargeAsThoseOfTraining) {
    ASSERT_TRUE(ffmpeg({"-f", "lavfi", "-i", "color=red:s=9000x5000:r=1:d=1", "-frames:v", "1",
                        "-threads", "1", folder_.file("huge.png")}));
    write_all(folder_.file("clips.csv"), "path,num_frames,height,width\nhuge.png,1,5000,9000\n");
    auto large = request();
    large.buckets = {{"48", 1}};
    auto const looked = look(large);
    ASSERT_EQ(looked.clips.size(), 1u);
    EXPECT_EQ(looked.clips[0].kind, "") << looked.clips[0].reason;
    EXPECT_EQ(looked.clips[0].source_width, 9000);
}

TEST_F(Look, ImpossibleRequestsAreRefused) {
    auto bad = request();
    bad.width_max = 0;
    EXPECT_THAT(error(bad), testing::HasSubstr("out of its range"));
    bad = request();
    bad.manifest = folder_.file("none.csv");
    EXPECT_THAT(error(bad), testing::HasSubstr("none.csv"));
    bad = request();
    bad.out = folder_.file("no/such.png");
    EXPECT_THAT(error(bad), testing::HasSubstr("such.png"));
    bad = request();
    bad.chosen.assign(400, "2");
    EXPECT_THAT(error(bad), testing::HasSubstr("nearest valid: 372, or a smaller --width"));
}

}  // namespace
}  // namespace osora::worker
