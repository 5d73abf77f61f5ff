#include "plan/model/model_cost.hpp"

#include <gtest/gtest.h>

namespace osora::plan {
namespace {

ModelShape known_shape(char const* arch) {
    return model_shape(arch).value();
}

// Worked out from the source of Open-Sora v1.2: 360p x 102 is 30 latent frames of 23 x 40 tokens.
TEST(ModelCost, Stdit3At360pAnd102Frames) {
    SampleCost const cost = sample_cost(known_shape("stdit3-xl/2"), {360, 640, 102});
    EXPECT_EQ(cost.frames, 30);
    EXPECT_EQ(cost.tokens_per_frame, 920);
    EXPECT_EQ(cost.tokens(), 27'600);
    EXPECT_NEAR(cost.forward_flops / 1e12, 63.0, 0.2);
}

// configs/opensora-v1-2/train/stage1.py: batch sizes that the authors searched for equal step time;
// with full recompute each bucket costs 0.77 to 1.23 PFLOP a step.
TEST(ModelCost, StageOneBucketsCostAboutOnePetaflop) {
    struct Row {
        int height, width, frames, batch;
        double tflop;  // 4 x forward, by the formula in a separate spreadsheet
    };
    Row const rows[] = {{144, 256, 1, 475, 765},   {144, 256, 51, 51, 978},
                        {144, 256, 102, 27, 1027}, {144, 256, 204, 13, 986},
                        {144, 256, 408, 6, 911},   {360, 640, 1, 141, 1232},
                        {360, 640, 51, 8, 1009},   {360, 640, 102, 4, 1009},
                        {360, 640, 204, 2, 1010},  {360, 640, 408, 1, 1013}};
    for (Row const& row : rows) {
        SampleCost const cost =
            sample_cost(known_shape("stdit3-xl/2"), {row.height, row.width, row.frames});
        double const tflop = (kTrainingFactor + 1) * cost.forward_flops * row.batch / 1e12;
        EXPECT_NEAR(tflop, row.tflop, 0.002 * row.tflop) << row.height << "p x " << row.frames;
        EXPECT_GE(tflop, 765);
        EXPECT_LE(tflop, 1235);
    }
}

// Tokens that the report of Open-Sora 2.0 prints for 256 px: 2,304 to 8,448 for 33 to 129 frames
// (L 24 h^2 57 + 4 L^2 h 57 FLOPs).
TEST(ModelCost, MmditTokensAndFlops) {
    ModelShape const mmdit = known_shape("mmdit-11b");
    SampleCost const cost = sample_cost(mmdit, {256, 256, 33});
    EXPECT_EQ(cost.tokens(), 9 * 16 * 16);
    EXPECT_EQ(sample_cost(mmdit, {256, 256, 129}).tokens(), 33 * 16 * 16);
    double const tokens = 2304 + 512, h = 3072;
    double const expected = 57 * (tokens * 24 * h * h + 4 * tokens * tokens * h);
    EXPECT_NEAR(cost.forward_flops, expected, 0.01 * expected);
}

// A double block has adapters of 18 C a rank for each stream (four projections of 2 C, an MLP of
// 5 C twice), which read its own tokens; a single block 2 C, 2 C, 6 C and 6 C, which read all.
TEST(ModelCost, AdaptersReadTheTokensOfTheirStream) {
    ModelShape const mmdit = known_shape("mmdit-11b");
    SampleCost const cost = sample_cost(mmdit, {256, 256, 33});
    double const c = 3072, image = 2304, text = 512;
    double const double_blocks = 19 * 18 * c * (image + text);
    double const single_blocks = 38 * 16 * c * (image + text);
    EXPECT_NEAR(adapter_flops(mmdit, cost, 8), 2.0 * 8 * (double_blocks + single_blocks), 1e3);
    EXPECT_EQ(adapter_flops(mmdit, cost, 0), 0);
}

TEST(ModelCost, PixelSpaceTiny) {
    SampleCost const cost = sample_cost(known_shape("stdit3-tiny"), {64, 64, 8});
    EXPECT_EQ(cost.frames, 8);
    EXPECT_EQ(cost.tokens_per_frame, 16 * 16);
    EXPECT_EQ(cost.latent_bytes, 4 * 8 * 64 * 64 * 3);
    // 4 blocks x 2048 tokens x (27 C + 2 x 4 heads of softmax sums) floats, two more C at the ends.
    // 20 rows of fp32 beside 27 values a block; the final layer's 3; captions, and their keys and
    // values in each block.
    EXPECT_EQ(cost.saved_bytes, 4 * 2048 * (27 * 96 + 20) * 4 + 3 * 2048 * 96 * 4 + 9 * 8 * 96 * 4);
}

TEST(ModelCost, CostsGrowWithFramesAreaAndPrecision) {
    for (std::string const& arch : model_names()) {
        ModelShape const model = known_shape(arch.c_str());
        SampleCost const small = sample_cost(model, {64, 64, 17});
        for (BucketKey const& larger : {BucketKey{64, 64, 34}, BucketKey{128, 64, 17}}) {
            SampleCost const large = sample_cost(model, larger);
            EXPECT_GT(large.forward_flops, small.forward_flops) << arch;
            EXPECT_GT(large.saved_bytes, small.saved_bytes) << arch;
            EXPECT_GT(large.input_bytes(), small.input_bytes()) << arch;
        }
        EXPECT_LT(sample_cost(model, {64, 64, 17}, {.bytes_per_value = 2}).saved_bytes,
                  small.saved_bytes)
            << arch;
    }
}

}  // namespace
}  // namespace osora::plan
