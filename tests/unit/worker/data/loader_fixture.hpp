// Clips of several codecs, copied for each test, and loaders over them.
#pragma once

#include "base/text/units.hpp"
#include "plan/buckets/assign.hpp"
#include "tests/unit/worker/data/clips.hpp"
#include "worker/data/frames/decoder.hpp"
#include "worker/data/loader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace osora::worker {

inline std::vector<std::uint8_t> copy(Batch const& batch) {
    return {batch.pixels().begin(), batch.pixels().end()};
}

class LoaderTest : public testing::Test {
protected:
    static constexpr int kVideos = 7;

    static constexpr int kImages = 3;

    /// The clips are made once; each test has its own copies to damage.
    static void SetUpTestSuite() {
        if (!have_ffmpeg()) return;
        made_ = std::make_unique<TempFolder>();
        for (int i = 0; i < kVideos; ++i) {
            std::vector<std::string> encoder{
                "-vf", "hue=h=" + std::to_string(50 * i), "-g", "12", "-pix_fmt", "yuv420p",
                "-c:v"};
            encoder.push_back(i == 1 ? "mpeg4" : i == 3 ? "libx265" : "libx264");
            if (i == 3) encoder.insert(encoder.end(), {"-x265-params", "log-level=none"});
            ASSERT_TRUE(make_clip(made_->file(video(i)), "96x64", 1.2, encoder));
        }
        for (int i = 0; i < kImages; ++i) {
            ASSERT_TRUE(make_clip(made_->file(image(i)), "96x64", 0.04, {"-frames:v", "1"}));
        }
    }
    static void TearDownTestSuite() { made_.reset(); }
    static std::string video(int i) { return "v" + std::to_string(i) + ".mp4"; }
    static std::string image(int i) { return "i" + std::to_string(i) + ".png"; }

    void SetUp() override {
        silence_ffmpeg();
        if (!made_) GTEST_SKIP() << "no ffmpeg program";
        for (int i = 0; i < kVideos; ++i) add_copy(video(i), 30);
        for (int i = 0; i < kImages; ++i) add_copy(image(i), 1);
    }
    void add_copy(std::string const& name, int num_frames) {
        std::filesystem::copy_file(made_->file(name), folder_.file(name));
        add(folder_.file(name), num_frames);
    }
    void add(std::string const& path, int num_frames) {
        manifest_.clips.push_back({.path = path,
                                   .text = {},
                                   .num_frames = num_frames,
                                   .height = 64,
                                   .width = 96,
                                   .fps = 25,
                                   .line = 0});
    }
    /// Buckets 64 x 8 frames, 48 x 4 frames, 64 images, over all clips of the manifest.
    plan::StepSchedule schedule(std::vector<std::int64_t> batches = {4, 8, 8}) {
        std::vector<plan::ClipShape> shapes;
        for (Clip const& clip : manifest_.clips) {
            shapes.push_back({clip.num_frames, clip.height, clip.width});
        }
        auto const table = *plan::BucketTable::make({{"64", 8, 0.5}, {"48", 4}, {"64", 1}},
                                                    {.frame_stride = 2, .multiple = 8});
        return *plan::StepSchedule::make(plan::fill_buckets(table, shapes), batches,
                                         {.seed = 3, .cycle_length = 12});
    }
    static LoaderOptions options(int num_workers = 2) {
        return {.num_workers = num_workers, .host_memory_bytes = kGiB, .frame_stride = 2};
    }
    std::unique_ptr<Loader> start(plan::StepSchedule const& schedule,
                                  LoaderOptions const& options) {
        auto loader = Loader::start(schedule, manifest_, options);
        EXPECT_TRUE(loader) << loader.error().message;
        return std::move(*loader);
    }
    /// Pixels of steps [first, first + count).
    std::vector<std::vector<std::uint8_t>> run(LoaderOptions options, std::uint64_t first,
                                               int count) {
        auto const plan = schedule();
        options.start_step = first;
        auto const loader = start(plan, options);
        std::vector<std::vector<std::uint8_t>> all;
        for (int i = 0; i < count; ++i) all.push_back(copy(*loader->next(first + i)));
        return all;
    }

    static inline std::unique_ptr<TempFolder> made_;
    TempFolder folder_;
    Manifest manifest_;
};

}  // namespace osora::worker
