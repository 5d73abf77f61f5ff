// Scores of small frames whose values can be counted by hand.
#include "worker/clips/frame_scores.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

LumaFrames luma(int height, int width, std::vector<std::uint8_t> pixels) {
    auto const frames = static_cast<int>(pixels.size()) / (height * width);
    return {.pixels = std::move(pixels), .frames = frames, .height = height, .width = width};
}

TEST(FrameScores, LumaIsRoundedBt601) {
    RgbFrames const clip{.pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30},
                         .frames = 1,
                         .height = 2,
                         .width = 2};
    // 76.245, 149.685, 29.07, 2.99 + 11.74 + 3.42 = 18.15
    EXPECT_EQ(luma_of(clip).pixels, (std::vector<std::uint8_t>{76, 150, 29, 18}));
}

TEST(FrameScores, MotionIsTheMeanDifference) {
    EXPECT_EQ(motion_score(luma(1, 2, {0, 0, 255, 255})), 1);
    EXPECT_EQ(motion_score(luma(1, 2, {0, 0, 51, 0, 51, 0})), 25.5 / 2 / 255);
    EXPECT_EQ(motion_score(luma(1, 2, {7, 9, 7, 9, 7, 9})), 0);
}

TEST(FrameScores, BlurIsTheVarianceOfTheLaplacian) {
    EXPECT_EQ(blur_score(luma(3, 3, {9, 9, 9, 9, 9, 9, 9, 9, 9})), 0);
    // Inner pixels 10 and 0: -40 and 10, mean -15, variance 625.
    EXPECT_EQ(blur_score(luma(3, 4, {0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0})), 625);
    EXPECT_EQ(blur_score(luma(3, 4, {0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0,  //
                                     5, 5, 5, 5, 5, 5,  5, 5, 5, 5, 5, 5})),
              312.5);
}

TEST(FrameScores, BrightnessAndBlackFrames) {
    EXPECT_EQ(brightness_score(luma(1, 2, {0, 255, 255, 0})), 0.5);
    std::vector<std::uint8_t> pixels(200, 31);  // two frames of 100
    EXPECT_EQ(black_share(luma(10, 10, pixels)), 1);
    pixels[0] = pixels[1] = 32;  // 98 % of the first are dark
    EXPECT_EQ(black_share(luma(10, 10, pixels)), 1);
    pixels[2] = 32;
    EXPECT_EQ(black_share(luma(10, 10, pixels)), 0.5);
}

TEST(FrameScores, ACutIsWhereMoreThanHalfOfTheColoursChange) {
    auto const frame = [](int red) {  // red pixels of 4, the rest blue
        std::vector<std::uint8_t> rgb;
        for (int i = 0; i < 4; ++i) {
            auto const value = static_cast<std::uint8_t>(i < red ? 255 : 0);
            rgb.insert(rgb.end(), {value, 0, static_cast<std::uint8_t>(255 - value)});
        }
        return rgb;
    };
    CutFinder finder;
    for (int const red : {4, 4, 2, 0, 3, 3, 0}) finder.add(frame(red));
    EXPECT_EQ(finder.cuts(), (std::vector<std::int64_t>{4, 6}));  // half is none
}

}  // namespace
}  // namespace osora::worker
