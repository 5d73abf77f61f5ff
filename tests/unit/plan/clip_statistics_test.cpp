// Shares and decoded pictures against figures worked out by hand.
#include "plan/clip_statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace osora::plan {
namespace {

RunConfig config_of(std::vector<BucketSection> buckets) {
    RunConfig config;
    config.model.arch = "stdit3-tiny";
    config.bucket = std::move(buckets);
    return config;
}

BucketSection bucket(std::string resolution, int num_frames, double keep_prob = 1) {
    BucketSection section;
    section.resolution = std::move(resolution);
    section.num_frames = num_frames;
    section.keep_prob = keep_prob;
    return section;
}

ClipStatistics statistics(RunConfig const& config, std::vector<ClipShape> const& clips) {
    return clip_statistics(config, model_shape("stdit3-tiny").value(), clips).value();
}

TEST(ClipStatistics, SharesFollowKeepProbAndLength) {
    auto const config = config_of({bucket("64", 8, 0.25), bucket("32", 1)});
    // The second clip is too short for 8 frames, so it only makes images.
    auto const found = statistics(config, {{100, 64, 64}, {4, 64, 64}});
    ASSERT_EQ(found.buckets.size(), 2u);
    EXPECT_NEAR(found.buckets[0].clips, 0.25, 1e-6);
    EXPECT_NEAR(found.buckets[1].clips, 0.75 + 1, 1e-6);
    EXPECT_EQ(found.clip_pixels_max, 64 * 64);
}

// The loader counts what decoders hold: 1080 rows are 17 blocks of 64. A plan that counted less
// could choose a loader that does not start.
TEST(ClipStatistics, PicturesAreAsLargeAsInADecoder) {
    auto const config = config_of({bucket("64", 8)});
    auto const found = statistics(config, {{100, 1080, 1920}, {100, 360, 640}});
    EXPECT_EQ(found.clip_pixels_max, 17 * 64 * 1920);
}

TEST(ClipStatistics, DecodesHalfOfWhatLiesInFrontOfTheWindow) {
    auto const config = config_of({bucket("64", 8)});
    auto const short_clip = statistics(config, {{28, 100, 200}});
    EXPECT_NEAR(short_clip.buckets[0].decoded_pixels, (20 / 2.0 + 8) * 100 * 200, 1);
    // Never more than half the distance of keyframes.
    auto const film = statistics(config, {{100'000, 100, 200}});
    EXPECT_NEAR(film.buckets[0].decoded_pixels, (250 / 2.0 + 8) * 100 * 200, 1);
}

TEST(ClipStatistics, TheMostCommonShapeRepresentsItsBucket) {
    auto const config = config_of({bucket("64", 1)});
    auto const found = statistics(config, {{1, 480, 640}, {1, 360, 640}, {1, 720, 1280}});
    EXPECT_LT(found.buckets[0].height * 3, found.buckets[0].width * 2);  // 16:9
    EXPECT_NEAR(found.buckets[0].clips, 3, 1e-6);
}

TEST(ClipShapes, AreReadFromRowsThatGiveThem) {
    auto const shapes = clip_shapes(
        "width,path,num_frames,height\n640,a.mp4,51.0,360\n640,b.mp4,,360\n1,c,-3,1\n"
        "320,\"d,\"\"e\"\".mp4\",9,240\nshort\n",
        100);
    ASSERT_EQ(shapes.size(), 2u);
    EXPECT_EQ(shapes[0].num_frames, 51);
    EXPECT_EQ(shapes[0].height, 360);
    EXPECT_EQ(shapes[1].width, 320);
}

TEST(ClipShapes, AreReadFromListsOfOtherMakes) {
    auto const shapes = clip_shapes("video;n;h;width\na.mp4;51,0;360;640\nb.mp4;<NA>;1;1\n", 100,
                                    {{"path", "video"}, {"num_frames", "n"}, {"height", "h"}});
    ASSERT_EQ(shapes.size(), 1u);
    EXPECT_EQ(shapes[0].num_frames, 51);
    EXPECT_EQ(shapes[0].width, 640);
}

TEST(ClipShapes, AreNoneWithoutTheColumns) {
    auto const lines = clip_shapes(
        "{\"video\": \"a\", \"num_frames\": 51.0, \"height\": \"360\", \"width\": 640}\n"
        "{\"video\": \"b\"}\n",
        100, {{"path", "video"}});
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].num_frames, 51);
    EXPECT_EQ(lines[0].width, 640);
    EXPECT_TRUE(clip_shapes("", 10).empty());
    EXPECT_TRUE(clip_shapes("path\na.mp4\n", 10).empty());
    EXPECT_TRUE(clip_shapes("path,num_frames,height\na.mp4,1,1\n", 10).empty());
}

TEST(ClipShapes, AreSpreadOverALongManifest) {
    std::string text = "num_frames,height,width,path\n";
    for (int i = 1; i <= 1000; ++i) text += std::to_string(i) + ",8,8,a.mp4\n";
    auto const shapes = clip_shapes(text, 100);
    EXPECT_LE(shapes.size(), 100u);
    EXPECT_GE(shapes.size(), 50u);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        EXPECT_EQ(shapes[i].num_frames, static_cast<int>(16 * i) + 1);
    }
}

/// The row with the largest picture decides the memory of decoders, wherever it is.
TEST(ClipShapes, HaveTheLargestPictureOfALongManifest) {
    for (int const place : {2, 500, 999, 1000}) {
        std::string text = "num_frames,height,width,path\n";
        for (int i = 1; i <= 1000; ++i)
            text += i == place ? "9,2160,3840,a.mp4\n" : "9,360,640,a.mp4\n";
        auto const shapes = clip_shapes(text, 100);
        EXPECT_LE(shapes.size(), 100u);
        EXPECT_EQ(std::ranges::count(shapes, 3840, &ClipShape::width), 1) << place;
    }
}

}  // namespace
}  // namespace osora::plan
