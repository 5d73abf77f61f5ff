// Clips that are not what their row says: fewer frames, another size. They are reported, and never
// trained on as something else.
#include "tests/unit/worker/data/loader_fixture.hpp"

#include <algorithm>

namespace osora::worker {
namespace {

TEST_F(LoaderTest, ListedCountsMayBeTooHigh) {
    ASSERT_TRUE(make_clip(folder_.file("long.mp4"), "96x64", 0.64, {"-c:v", "libx264"}));
    ASSERT_TRUE(make_clip(folder_.file("short.mp4"), "96x64", 0.56, {"-c:v", "libx264"}));
    manifest_.clips.resize(2);
    add(folder_.file("long.mp4"), 19);   // has 16
    add(folder_.file("short.mp4"), 15);  // has 14, and 15 are wanted
    auto const plan = schedule({4, 4, 4});
    LoaderOptions strict = options(0);
    strict.bad_share_max = 0;
    std::vector<std::vector<std::uint8_t>> reference;
    for (int workers : {0, 3}) {
        strict.num_workers = workers;
        auto const loader = start(plan, strict);
        std::vector<std::string> said;
        int windows = 0;
        for (std::uint64_t step = 0; step < 60; ++step) {
            auto const batch = loader->next(step);
            ASSERT_TRUE(batch) << batch.error().message;
            for (BadClip const& bad : batch->bad_clips()) said.push_back(bad_clip_text(bad));
            if (workers == 0) reference.push_back(copy(*batch));
            EXPECT_TRUE(copy(*batch) == reference[step]) << step;
            if (batch->key().num_frames != 8) continue;
            for (LoadedSample const& sample : batch->samples()) {
                EXPECT_NE(sample.clip, 3u);
                windows += sample.clip == 2 ? 1 : 0;
                EXPECT_LE(sample.start_frame, sample.clip == 2 ? 1 : 15);
            }
        }
        EXPECT_GT(windows, 3);
        ASSERT_EQ(said.size(), 2u);
        std::ranges::sort(said);
        EXPECT_EQ(said[0], folder_.file("long.mp4") +
                               ": listed with 19 frames, has 16; its windows are taken from those");
        EXPECT_TRUE(
            said[1].starts_with(folder_.file("short.mp4") + ": listed with 15 frames, has 14; "))
            << said[1];
    }
    // Anywhere it begins, the samples are the same.
    strict.start_step = 30;
    auto const loader = start(plan, strict);
    for (std::uint64_t step = 30; step < 60; ++step)
        EXPECT_TRUE(copy(*loader->next(step)) == reference[step]) << step;
}

/// Never silently shown as something else than listed: other clips of the bucket replace them.
TEST_F(LoaderTest, ClipsOfAnotherSizeThanListedAreReplacedAndReported) {
    write_turned(made_->file(video(0)), folder_.file("turned.mp4"));
    ASSERT_TRUE(make_clip(folder_.file("large.mp4"), "192x128", 1.2, {"-c:v", "libx264"}));
    manifest_.clips.resize(2);
    add(folder_.file("turned.mp4"), 30);  // 64 x 96 on the screen
    add(folder_.file("large.mp4"), 30);   // twice as large as listed
    auto const plan = schedule({4, 4, 4});
    LoaderOptions strict = options(0);
    strict.bad_share_max = 0;
    std::vector<std::vector<std::uint8_t>> reference;
    for (int workers : {0, 3}) {
        strict.num_workers = workers;
        auto const loader = start(plan, strict);
        std::vector<std::string> said;
        int large = 0;
        for (std::uint64_t step = 0; step < 30; ++step) {
            auto const batch = loader->next(step);
            ASSERT_TRUE(batch) << batch.error().message;
            for (BadClip const& bad : batch->bad_clips()) said.push_back(bad_clip_text(bad));
            if (workers == 0) reference.push_back(copy(*batch));
            EXPECT_TRUE(copy(*batch) == reference[step]) << step;
            for (LoadedSample const& sample : batch->samples()) {
                EXPECT_NE(sample.clip, 2u);
                large += sample.clip == 3 ? 1 : 0;
            }
        }
        EXPECT_GT(large, 3);
        ASSERT_EQ(said.size(), 2u);
        std::ranges::sort(said);
        EXPECT_EQ(said[0], folder_.file("large.mp4") +
                               ": the row says 96 x 64, players show 192 x 128; it fits its bucket "
                               "all the same");
        EXPECT_TRUE(said[1].starts_with(folder_.file("turned.mp4") +
                                        ": the row says 96 x 64, as the file stores it, players "
                                        "show 64 x 96; correct the list"))
            << said[1];
        EXPECT_TRUE(said[1].ends_with(" instead")) << said[1];
    }
}

TEST_F(LoaderTest, ABucketOfTurnedClipsAloneTakesThoseOfOthers) {
    write_turned(made_->file(video(0)), folder_.file("turned.mp4"));
    add(folder_.file("turned.mp4"), 30);
    manifest_.clips.back().height = 64;
    manifest_.clips.back().width = 192;  // a separate bucket
    auto const plan = schedule({4, 4, 4});
    auto const loader = start(plan, options());
    for (std::uint64_t step = 0; step < 30; ++step) {
        auto const batch = loader->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        for (LoadedSample const& sample : batch->samples())
            EXPECT_NE(sample.clip, manifest_.clips.size() - 1);
    }
}

TEST_F(LoaderTest, FramesAndSizesAreTheFilesWhereTheyAreCounted) {
    manifest_.clips.resize(2);
    for (Clip& clip : manifest_.clips) clip.num_frames = 32;  // of 30
    manifest_.clips[0].height = 65;                           // within a rounding
    auto const plan = schedule({4, 4, 4});
    LoaderOptions counting = options();
    counting.count_frames = true;
    auto const loader = start(plan, counting);
    for (std::uint64_t step = 0; step < 10; ++step) {
        auto const batch = loader->next(step);
        ASSERT_TRUE(batch) << batch.error().message;
        for (LoadedSample const& sample : batch->samples()) {
            EXPECT_EQ(sample.num_frames, 30);
            EXPECT_EQ(sample.height, 64);
            EXPECT_EQ(sample.width, 96);
        }
    }
}

}  // namespace
}  // namespace osora::worker
