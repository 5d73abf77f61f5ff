// Samples of latents: a network and an autoencoder with random weights, to a file.
#include "worker/jobs/sample/sample_command.hpp"

#include "plan/model/model_sizes.hpp"
#include "protocol/json.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/checkpoint.hpp"
#include "worker/vae/vae_pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace osora::worker {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SampleOfLatents : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "sample-XXXXXX";
        folder_ = mkdtemp(pattern.data());
        request_.vae_arch = "tiny";
        request_.vae_weights = folder_ / "vae.safetensors";
        request_.out = folder_ / "a.mp4";
        request_.steps = 1;
        VaePipeline vae(plan::vae_sizes("tiny").value());
        vae.initialise(1);
        ASSERT_TRUE(save_safetensors(request_.vae_weights, vae.parameters().all()).has_value());
    }
    void TearDown() override { fs::remove_all(folder_); }

    /// Of a small network on latents of 4 channels.
    void save(char const* arch, int in_channels) {
        CheckpointState state;
        state.arch = state.model.arch = arch;
        state.model.depth = 1;
        state.model.hidden = 32;
        state.model.heads = 4;
        state.model.patch_size = 2;
        state.model.caption_channels = 16;
        state.model.text_tokens = 4;
        state.model.in_channels = in_channels;
        state.trained_on = {.height = 32, .width = 48, .num_frames = 17, .fps = 12};
        Stdit3 model(stdit3_config(plan::model_shape(state.model).value()).value());
        model.initialise(2);
        CheckpointParts tensors;
        for (NamedTensor const& each : model.parameters().all())
            tensors.model.emplace_back(each.name, each.tensor);
        tensors.ema = tensors.model;
        auto const saved = save_checkpoint(folder_ / arch, state, tensors, 1);
        ASSERT_TRUE(saved.has_value()) << saved.error().message;
        request_.checkpoint = saved->path;
    }

    fs::path folder_;
    SampleRequest request_;
};

TEST_F(SampleOfLatents, TheAutoencoderMakesPicturesOfThem) {
    for (char const* arch : {"stdit3-xl/2", "stdit3-tiny"}) {
        save(arch, 4);
        auto const printed = run_sample_command(request_);
        ASSERT_TRUE(printed.has_value()) << printed.error().message;
        auto const out = protocol::parse_json(*printed).value();
        EXPECT_EQ(out.at("num_frames"), 17);
        EXPECT_EQ(out.at("height"), 32);
        EXPECT_EQ(out.at("width"), 48);
        EXPECT_TRUE(fs::exists(folder_ / "a.png"));
    }
}

TEST_F(SampleOfLatents, WhatDoesNotFitIsNamed) {
    save("stdit3-xl/2", 8);
    EXPECT_THAT(run_sample_command(request_).error().message,
                HasSubstr("autoencoder tiny has latents of 4 channels"));
    save("stdit3-tiny", 3);
    request_.width = 31;
    request_.height = 32;
    EXPECT_THAT(run_sample_command(request_).error().message, HasSubstr("multiples of 2 pixels"));
    request_.width = 32;
    request_.vae_arch = "huge";
    EXPECT_THAT(run_sample_command(request_).error().message, HasSubstr("vae.arch"));
    EXPECT_FALSE(fs::exists(request_.out));
    request_ = {};
    request_.checkpoint = folder_ / "none";
    EXPECT_THAT(run_sample_command(request_).error().message,
                HasSubstr("no such checkpoint or run"));
}

}  // namespace
}  // namespace osora::worker
