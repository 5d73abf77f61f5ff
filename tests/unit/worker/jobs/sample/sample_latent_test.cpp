// Samples of small networks with random weights: what decides them, and what is refused.
#include "worker/jobs/sample/sample_latent.hpp"

#include "worker/jobs/objectives.hpp"
#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/stdit/stdit2.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/weights/safetensors.hpp"

#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace osora::worker {
namespace {

using testing::HasSubstr;

SamplePlan plan_of(char const* arch) {
    SamplePlan plan;
    plan.shape = plan::model_shape(arch).value();
    plan.num_frames = 3;
    plan.height = 8;
    plan.width = 12;
    plan.fps = 12;
    plan.steps = 3;
    plan.cfg_scale = 2;
    plan.seed = 5;
    return plan;
}

std::vector<NamedTensor> weights_of(std::string_view arch) {
    if (arch.starts_with("mmdit")) {
        Mmdit model(mmdit_config(arch).value());
        model.initialise(1);
        return model.parameters().all();
    }
    if (arch.starts_with("stdit2")) {
        Stdit2 model(stdit2_config(arch).value());
        model.initialise(1);
        // Its outputs start at 0, whatever it reads.
        at::NoGradGuard const no_grad;
        for (char const* layer : {"blocks.0.cross_attn.proj", "final_layer.linear"})
            model.parameters().find(std::string(layer) + ".weight")->tensor.normal_(0, 0.1);
        return model.parameters().all();
    }
    Stdit3 model(stdit3_config(arch).value());
    model.initialise(1);
    return model.parameters().all();
}

class SampleLatent : public testing::TestWithParam<char const*> {
protected:
    [[nodiscard]] at::Tensor sample(SamplePlan const& plan, SampleCaption const& caption = {}) {
        auto result = sample_latent(plan, weights_, caption, Device());
        EXPECT_TRUE(result.has_value()) << result.error().message;
        return result.value();
    }
    SamplePlan plan_ = plan_of(GetParam());
    std::vector<NamedTensor> weights_ = weights_of(GetParam());
};

TEST_P(SampleLatent, SeedStepsAndShiftDecideIt) {
    at::Tensor const first = sample(plan_);
    EXPECT_EQ(first.sizes(), (std::vector<std::int64_t>{1, 3, 3, 8, 12}));
    EXPECT_TRUE(at::equal(sample(plan_), first));
    for (auto const& change : std::initializer_list<void (*)(SamplePlan&)>{
             [](SamplePlan& plan) { plan.seed = 6; }, [](SamplePlan& plan) { plan.steps = 4; },
             [](SamplePlan& plan) { plan.timestep_shift = true; }}) {
        SamplePlan other = plan_;
        change(other);
        EXPECT_FALSE(at::equal(sample(other), first));
    }
    SamplePlan unguided = plan_;
    unguided.cfg_scale = 9;  // of a null caption against itself
    EXPECT_TRUE(at::allclose(sample(unguided), first, 1e-4, 1e-5));
}

TEST_P(SampleLatent, ACaptionGuides) {
    SampleCaption caption;
    caption.text = at::randn({1, 4, 32});
    at::Tensor const null = sample(plan_);
    at::Tensor const guided = sample(plan_, caption);
    EXPECT_FALSE(at::allclose(guided, null, 1e-4, 1e-4));
    SamplePlan plain = plan_;
    plain.cfg_scale = 1;
    EXPECT_FALSE(at::allclose(sample(plain, caption), guided, 1e-4, 1e-4));
}

TEST_P(SampleLatent, AnImageHasTheRateThatImagesAreTrainedWith) {
    for (NamedTensor const& each : weights_) {  // initially 0: the rate would have no effect
        at::NoGradGuard const no_grad;
        if (each.name == "fps_embedder.mlp.2.weight") each.tensor.normal_(0, 1);
        if (each.name == "blocks.0.attn_temp.proj.weight") each.tensor.normal_(0, 1);
    }
    SamplePlan as_trained = plan_;
    as_trained.fps = 120;
    bool const reads_rate = plan_.shape.family != plan::ModelFamily::mmdit;
    EXPECT_EQ(at::equal(sample(plan_), sample(as_trained)), !reads_rate);
    plan_.num_frames = as_trained.num_frames = 1;
    EXPECT_TRUE(at::equal(sample(plan_), sample(as_trained)));
}

TEST_P(SampleLatent, WeightsThatDoNotFitOrAreBroken) {
    auto const message = [&] {
        return sample_latent(plan_, weights_, {}, Device()).error().message;
    };
    auto const whole = weights_;
    weights_.pop_back();
    EXPECT_THAT(message(), HasSubstr(whole.back().name + " is missing"));
    weights_ = whole;
    weights_.back() = {whole.back().name, at::zeros({2})};
    EXPECT_THAT(message(), HasSubstr("has shape [2]"));
    weights_.back() = {whole.back().name, whole.back().tensor.detach().clone().fill_(NAN)};
    EXPECT_THAT(message(), HasSubstr("the sample is not finite"));
}

INSTANTIATE_TEST_SUITE_P(Families, SampleLatent,
                         testing::Values("stdit3-tiny", "stdit2-tiny", "mmdit-tiny"));

/// Frames of one chunk of the autoencoder, or less.
TEST(SampleShortClip, HasShiftedTimes) {
    SamplePlan plan = plan_of("stdit3-tiny");
    plan.shape.vae = {.temporal = 4, .spatial = 1, .chunk_frames = 17};
    plan.num_frames = 5;
    plan.timestep_shift = true;
    auto const made = sample_latent(plan, weights_of("stdit3-tiny"), {}, Device());
    ASSERT_TRUE(made.has_value()) << made.error().message;
    EXPECT_EQ(made->sizes(), (std::vector<std::int64_t>{1, 3, 2, 8, 12}));

    plan::WorkerJob job;
    job.config.data.latents = "cache";
    job.config.train.timestep_shift = true;
    auto const flow = flow_of(job, plan::model_shape("stdit3-xl/2").value());
    for (auto const& [frames, shifted] : {std::pair(2, 500.0),
                                          {4, 500.0},
                                          {5, 585.7864376269050},
                                          {16, 666.6666666666667},
                                          {17, 690.9830056250525}}) {
        EXPECT_NEAR(timestep_transform(flow, 500, {512, 512, frames}, false), shifted, 1e-9)
            << frames;
    }
}

TEST(LoadCaption, WhatAFileMayHold) {
    std::string pattern = testing::TempDir() + "caption-XXXXXX";
    std::filesystem::path const folder = mkdtemp(pattern.data());
    auto const file = folder / "c.safetensors";
    auto const shape = plan::model_shape("mmdit-tiny").value();
    auto const load = [&](std::vector<NamedTensor> const& tensors) {
        EXPECT_TRUE(save_safetensors(file, tensors).has_value());
        return load_caption(file, shape);
    };
    auto const good = load({{"text", at::randn({4, 32})}, {"pooled", at::randn({1, 24})}});
    ASSERT_TRUE(good.has_value()) << good.error().message;
    EXPECT_EQ(good->text.sizes(), (std::vector<std::int64_t>{1, 4, 32}));
    EXPECT_EQ(good->pooled.sizes(), (std::vector<std::int64_t>{1, 24}));
    auto filled = *good;
    fill_caption(filled, 8);
    EXPECT_EQ(filled.text.sizes(), (std::vector<std::int64_t>{1, 8, 32}));
    EXPECT_TRUE(filled.text.narrow(1, 0, 4).equal(good->text));
    EXPECT_EQ(filled.text.narrow(1, 4, 4).abs().sum().item<double>(), 0);
    auto const refused = [&](std::vector<NamedTensor> const& tensors) {
        auto const result = load(tensors);
        return result.has_error() ? result.error().message : "accepted";
    };
    EXPECT_THAT(refused({{"y", at::randn({4, 32})}}), HasSubstr("no tensor \"text\""));
    EXPECT_THAT(refused({{"text", at::randn({4, 33})}}),
                HasSubstr("text: shape [4,33], expected [-1,32]"));
    EXPECT_THAT(refused({{"text", at::randn({9, 32})}}),
                HasSubstr("text: 9 tokens, the network takes at most 8"));
    EXPECT_THAT(refused({{"text", at::randn({4, 32})}, {"text_mask", at::zeros({4})}}),
                HasSubstr("no token is left"));
    EXPECT_THAT(refused({{"text", at::randn({4, 32}).fill_(NAN)}}), HasSubstr("NaN or infinity"));
    EXPECT_EQ(load_caption(folder / "none", shape).error().code, Errc::not_found);
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace osora::worker
