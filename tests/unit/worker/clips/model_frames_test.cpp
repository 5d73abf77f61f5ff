// Frames and sizes of the scores by models, against those of Open-Sora 1.2's tools/scoring.
#include "worker/clips/model_frames.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

using testing::ElementsAre;

TEST(ModelFrames, AreThoseOfOpenSora) {
    EXPECT_THAT(frames_of("aesthetic", 100), ElementsAre(10, 50, 90));
    EXPECT_THAT(frames_of("aesthetic", 7), ElementsAre(0, 3, 6));
    EXPECT_THAT(frames_of("aesthetic", 1), ElementsAre(0, 0, 0));
    EXPECT_THAT(frames_of("flow", 31), ElementsAre(0, 10, 20, 30));
    EXPECT_THAT(frames_of("flow", 15), ElementsAre(0, 10, 14, 14));
    EXPECT_THAT(frames_of("flow", 2), ElementsAre(0, 1, 1, 1));
}

TEST(ModelFrames, ArePairsForFlowOnly) {
    EXPECT_EQ(picture_of("aesthetic").input, ModelInput::frames);
    EXPECT_EQ(picture_of("flow").input, ModelInput::pairs);
    EXPECT_EQ(picture_of("flow").height, 320);
    EXPECT_EQ(picture_of("flow").width, 576);
}

TEST(ModelFrames, AreMirroredAtTheDiagonal) {
    // Two frames of 1 x 2 pixels: the left one becomes the upper one.
    RgbFrames const clip{
        .pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, .frames = 2, .height = 1, .width = 2};
    auto const made = transposed(clip);
    EXPECT_EQ(made.height, 2);
    EXPECT_EQ(made.width, 1);
    EXPECT_EQ(made.pixels, clip.pixels);
    RgbFrames const square{
        .pixels = {1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}, .frames = 1, .height = 2, .width = 2};
    EXPECT_THAT(transposed(square).pixels, ElementsAre(1, 1, 1, 3, 3, 3, 2, 2, 2, 4, 4, 4));
}

}  // namespace
}  // namespace osora::worker
