// Sizes, initial values and shapes of STDiT3; its numbers are in tests/parity.
#include "worker/model/stdit/stdit3.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

Stdit3 tiny(std::uint64_t seed) {
    Stdit3 model(stdit3_config("stdit3-tiny").value());
    model.initialise(seed);
    return model;
}

Stdit3Input input_of(at::IntArrayRef shape) {
    Stdit3Input input;
    input.x = at::randn(shape);
    input.timestep = at::full({shape[0]}, 500.0);
    input.fps = at::full({1}, 24.0);
    input.height_px = static_cast<double>(shape[3]);
    input.width_px = static_cast<double>(shape[4]);
    return input;
}

TEST(Stdit3Config, ReadsOpenSorasKeysAndNamesWhatIsWrong) {
    auto const config = parse_stdit3_config(R"({"depth":2,"hidden_size":64,"num_heads":4,
        "patch_size":[1,2,2],"mlp_ratio":4,"qk_norm":true})");
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->hidden_size, 64);
    EXPECT_EQ(config->in_channels, 4);
    auto const message = [](std::string_view json) {
        auto const parsed = parse_stdit3_config(json);
        return parsed.has_error() ? parsed.error().message : "accepted";
    };
    EXPECT_NE(message(R"({"depht":2})").find("depht"), std::string::npos);
    EXPECT_NE(message(R"({"depth":"2"})").find("depth"), std::string::npos);
    EXPECT_NE(message(R"({"depth":0})").find("depth"), std::string::npos);
    EXPECT_NE(message(R"({"depth":1e300})").find("depth"), std::string::npos);
    EXPECT_NE(message(R"({"patch_size":[1,2]})").find("patch_size"), std::string::npos);
    EXPECT_NE(message(R"({"hidden_size":64,"num_heads":5})").find("num_heads"), std::string::npos);
    EXPECT_NE(message("[1"), "accepted");
    EXPECT_NE(stdit3_config("stdit3-xxl").error().message.find("stdit3-tiny"), std::string::npos);
}

TEST(Stdit3, PublishedSizeOfThreeBillion) {
    Stdit3 const model(stdit3_config("stdit3-3b/2").value(), at::TensorOptions(at::kMeta));
    double const billions = static_cast<double>(model.parameters().trainable_count()) / 1e9;
    EXPECT_NEAR(billions, 3.182, 0.001);
}

TEST(Stdit3, SeedsGiveTheSameWeightsAndDifferentOnesDoNot) {
    auto const a = tiny(1), b = tiny(1), c = tiny(2);
    for (std::size_t i = 0; i < a.parameters().all().size(); ++i)
        EXPECT_TRUE(at::equal(a.parameters().all()[i].tensor, b.parameters().all()[i].tensor));
    auto const* name = "spatial_blocks.0.mlp.fc1.weight";
    EXPECT_FALSE(at::equal(a.parameters().find(name)->tensor, c.parameters().find(name)->tensor));
    EXPECT_FALSE(at::equal(a.parameters().find(name)->tensor,
                           a.parameters().find("temporal_blocks.0.mlp.fc1.weight")->tensor));
}

TEST(Stdit3, FreshTemporalBlocksDoNotMixFrames) {
    // Their output projections start at 0, so a new video model is an image model on each frame.
    auto const model = tiny(3);
    auto input = input_of({1, 3, 4, 16, 16});
    auto const before = model.forward(input);
    input.x.select(2, 3).add_(1);
    auto const after = model.forward(input);
    EXPECT_TRUE(at::equal(before.narrow(2, 0, 3), after.narrow(2, 0, 3)));
    EXPECT_FALSE(at::equal(before.select(2, 3), after.select(2, 3)));
}

TEST(Stdit3, AnImageIsAVideoOfEqualFrames) {
    // Temporal attention over equal frames averages equal values, so one frame must give the same
    // output and, for a mean over frames, the same gradients.
    std::vector<std::vector<at::Tensor>> gradients;
    std::vector<at::Tensor> outputs;
    auto const image = at::randn({2, 3, 1, 16, 16}, at::make_generator<at::CPUGeneratorImpl>(1));
    for (std::int64_t const frames : {1, 3}) {
        auto model = tiny(8);
        auto const generator = at::make_generator<at::CPUGeneratorImpl>(2);
        for (auto const& parameter : model.parameters().trainable())
            parameter.detach().normal_(0, 0.1, generator);
        auto input = input_of({2, 3, frames, 16, 16});
        input.x = image.repeat({1, 1, frames, 1, 1});
        outputs.push_back(model.forward(input));
        outputs.back().sub(input.x).square().mean().backward();
        gradients.emplace_back();
        for (auto const& parameter : model.parameters().trainable())
            gradients.back().push_back(parameter.grad());
    }
    EXPECT_TRUE(at::allclose(outputs[0].select(2, 0), outputs[1].select(2, 1), 1e-4, 1e-5));
    for (std::size_t i = 0; i < gradients[0].size(); ++i) {
        ASSERT_TRUE(gradients[0][i].defined()) << i;
        EXPECT_TRUE(at::allclose(gradients[0][i], gradients[1][i], 1e-3, 1e-6)) << i;
    }
}

TEST(Stdit3, OutputHasTheShapeOfAnyInput) {
    auto const model = tiny(4);
    for (auto const& shape : {std::vector<std::int64_t>{2, 3, 1, 64, 64}, {1, 3, 5, 47, 50}}) {
        auto const out = model.forward(input_of(shape));
        EXPECT_EQ(out.sizes(), at::IntArrayRef(shape));
        EXPECT_TRUE(out.isfinite().all().item<bool>());
    }
}

TEST(Stdit3, LoadChecksNamesAndShapesBeforeItChangesAnything) {
    auto const source = tiny(5);
    auto target = tiny(6);
    auto weights = source.parameters().all();
    auto const* name = "final_layer.linear.weight";
    at::Tensor const old = target.parameters().find(name)->tensor.clone();
    auto broken = weights;
    broken.back().tensor = at::ones({3});
    broken.front().name = "x_embedder.proj.wait";
    auto const failed = target.parameters().load(broken);
    ASSERT_TRUE(failed.has_error());
    EXPECT_NE(failed.error().message.find("x_embedder.proj.weight is missing"), std::string::npos);
    EXPECT_NE(failed.error().message.find("x_embedder.proj.wait is unknown"), std::string::npos);
    EXPECT_TRUE(at::equal(target.parameters().find(name)->tensor, old));
    target.parameters().load(weights).value();
    EXPECT_TRUE(
        at::equal(target.parameters().find(name)->tensor, source.parameters().find(name)->tensor));
}

}  // namespace
}  // namespace osora::worker
