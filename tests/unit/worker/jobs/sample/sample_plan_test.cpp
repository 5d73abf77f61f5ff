#include "worker/jobs/sample/sample_plan.hpp"

#include <gtest/gtest.h>

namespace osora::worker {
namespace {

Result<SampleRequest> parsed(std::vector<std::string> const& words) {
    return parse_sample_request(words);
}

TEST(SampleRequest, WordsBecomeNumbers) {
    auto const request =
        parsed({"run", "--size", "64x48", "--frames", "8", "--steps", "5", "--cfg-scale", "1.5",
                "--seed", "7", "--fps", "12.5", "--no-ema", "--out", "a.mp4"});
    ASSERT_TRUE(request.has_value()) << request.error().message;
    EXPECT_EQ(request->checkpoint, "run");
    EXPECT_EQ(request->width, 64);
    EXPECT_EQ(request->height, 48);
    EXPECT_EQ(request->num_frames, 8);
    EXPECT_EQ(request->steps, 5);
    EXPECT_EQ(request->cfg_scale, 1.5);
    EXPECT_EQ(request->seed, 7u);
    EXPECT_EQ(request->fps, 12.5);
    EXPECT_FALSE(request->ema);
    EXPECT_EQ(request->out, "a.mp4");
}

TEST(SampleRequest, BadWordsAreNamed) {
    std::pair<std::vector<std::string>, char const*> const cases[] = {
        {{}, "give a checkpoint: the folder step-NNNNNNNN"},
        {{"a", "b"}, "'b': give one checkpoint"},
        {{"a", "--size", "64"},
         "--size 64: expected WIDTHxHEIGHT as in 640x360, at most 16384 a "
         "side"},
        {{"a", "--size", "0x8"},
         "--size 0x8: expected WIDTHxHEIGHT as in 640x360, at most 16384 "
         "a side"},
        {{"a", "--frames", "0"}, "--frames 0: expected a number in [1, 65536]"},
        {{"a", "--steps", "9e9"}, "--steps 9e9: expected a number in [1, 10000]"},
        {{"a", "--cfg-scale", "nan"}, "--cfg-scale nan: expected a number in [0, 1000]"},
        {{"a", "--seed", "-1"}, "--seed -1: expected a number in [0, 18446744073709551615]"},
        {{"a", "--step", "3"}, "unknown option --step; did you mean --steps?"},
        {{"a", "--out"}, "--out: needs a value"},
        {{"a", "--out", ""}, "--out: needs a value"},
        {{"a", "--precision", "bf61"},
         "--precision bf61: expected fp32, bf16 or fp16; did you mean bf16?"}};
    for (auto const& [words, message] : cases) {
        auto const request = parsed(words);
        ASSERT_TRUE(request.has_error()) << message;
        EXPECT_EQ(request.error().message, message);
        EXPECT_EQ(request.error().code, Errc::invalid_input);
    }
}

CheckpointState trained(char const* arch) {
    CheckpointState state;
    state.arch = state.model.arch = arch;
    state.trained_on = {
        .height = 48, .width = 64, .num_frames = 17, .fps = 12, .timestep_shift = true};
    return state;
}

TEST(SamplePlan, IsAsTrainedUnlessAskedOtherwise) {
    SampleRequest request;
    auto plan = sample_plan(request, trained("stdit3-xl/2")).value();
    EXPECT_EQ(plan.num_frames, 17);
    EXPECT_EQ(plan.latent_frames(), 5);
    EXPECT_EQ(plan.latent_height(), 6);
    EXPECT_EQ(plan.latent_width(), 8);
    EXPECT_EQ(plan.fps, 12);
    EXPECT_EQ(plan.steps, 30);
    EXPECT_EQ(plan.cfg_scale, 7);
    EXPECT_TRUE(plan.timestep_shift);
    EXPECT_TRUE(plan.is_latent());
    request.width = 128;
    request.height = 32;
    request.num_frames = 1;
    request.cfg_scale = 0;
    plan = sample_plan(request, trained("mmdit-tiny")).value();
    EXPECT_FALSE(plan.is_latent());
    EXPECT_EQ(plan.latent_frames(), 1);
    EXPECT_EQ(plan.latent_width(), 128);
    EXPECT_EQ(plan.steps, 50);
    EXPECT_EQ(plan.cfg_scale, 0);
}

TEST(SamplePlan, SizesThatAreNoWholeTokens) {
    SampleRequest request;
    request.width = 70;
    request.height = 48;
    auto const refused = sample_plan(request, trained("stdit3-xl/2"));
    EXPECT_EQ(refused.error().message,
              "--size: width 70: the network takes multiples of 16 pixels; nearest valid: 64, 80");
    EXPECT_EQ(refused.error().code, Errc::not_divisible);
}

TEST(SamplePlan, OlderCheckpointsSayLess) {
    CheckpointState state = trained("stdit3-tiny");
    state.model = {};
    state.trained_on = {};
    SampleRequest request;
    EXPECT_EQ(sample_plan(request, state).error().message,
              "the checkpoint does not say what it was trained on; give --frames and --size");
    request.width = request.height = 32;
    request.num_frames = 4;
    EXPECT_EQ(sample_plan(request, state)->fps, 24);
    state.arch = "stdit9";
    EXPECT_NE(sample_plan(request, state).error().message.find("checkpoint: unknown architecture"),
              std::string::npos);
}

}  // namespace
}  // namespace osora::worker
