// STDiT2 against tensors that Open-Sora v1.1 itself computed (tests/data/stdit2).
#include "compare.hpp"
#include "recorded.hpp"
#include "worker/model/stdit/stdit2.hpp"

#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

constexpr double kOutputTolerance = 2e-6;
constexpr double kGradTolerance = 5e-6;

struct Golden {
    SafetensorsContent content = recorded("stdit2/stdit2");
    Stdit2Config config = parse_stdit2_config(content.metadata.at("config")).value();

    at::Tensor tensor(std::string const& group, std::string const& name) const {
        auto const* found = content.find(group + "/" + name);
        return found == nullptr ? at::Tensor() : found->clone();
    }
    Stdit2Input input(std::string const& variant) const {
        auto const in = [&](char const* name) { return tensor("in", variant + "/" + name); };
        Stdit2Input input;
        input.x = in("x");
        input.timestep = in("timestep");
        input.fps = in("fps");
        input.height = in("height");
        input.width = in("width");
        input.ar = in("ar");
        input.num_frames = in("num_frames");
        input.height_px = input.height[0].item<double>();
        input.width_px = input.width[0].item<double>();
        input.y = in("y");
        input.y_mask = in("mask");
        input.x_mask = in("x_mask");
        return input;
    }
};

Stdit2 loaded(Golden const& golden, Stdit2Config const& config) {
    Stdit2 model(config);
    model.parameters().load(recorded_weights(golden.content)).value();
    return model;
}

void expect_forward_and_gradients(std::string const& variant) {
    Golden const golden;
    Stdit2 const model = loaded(golden, golden.config);
    auto input = golden.input(variant);
    input.x.set_requires_grad(true);
    input.y.set_requires_grad(true);
    auto const out = model.forward(input);
    EXPECT_LE(relative_error(out, golden.tensor("out", variant + "/out")), kOutputTolerance);
    out.mul(golden.tensor("in", variant + "/loss_weight")).sum().backward();
    EXPECT_LE(relative_error(input.x.grad(), golden.tensor("grad_in", variant + "/x")),
              kGradTolerance);
    EXPECT_LE(relative_error(input.y.grad(), golden.tensor("grad_in", variant + "/y")),
              kGradTolerance);
    std::size_t compared = 0;
    for (auto const& entry : model.parameters().all()) {
        auto const expected = golden.tensor("grad", variant + "/" + entry.name);
        if (!expected.defined()) continue;
        ++compared;
        EXPECT_LE(relative_error(entry.tensor.grad(), expected), kGradTolerance) << entry.name;
    }
    EXPECT_EQ(compared, model.parameters().trainable().size());
}

TEST(Stdit2Parity, ForwardAndGradients) {
    expect_forward_and_gradients("plain");
}

/// Odd sizes too.
TEST(Stdit2Parity, GivenFramesAndTextMask) {
    expect_forward_and_gradients("given");
}

TEST(Stdit2Parity, TextLengths) {
    expect_forward_and_gradients("lengths");
}

TEST(Stdit2Parity, Images) {
    expect_forward_and_gradients("image");
}

/// v1.1 rotates before it normalises: the other order, v1.2's, gives other numbers.
TEST(Stdit2Parity, OrderOfNormAndRotationMatters) {
    Golden const golden;
    Stdit2Config newer = golden.config;
    newer.qk_norm_legacy = false;
    EXPECT_GT(relative_error(loaded(golden, newer).forward(golden.input("plain")),
                             golden.tensor("out", "plain/out")),
              1e-3);
}

TEST(Stdit2Parity, DroppedCaptionsAreTheNullOne) {
    Golden const golden;
    Stdit2 const model = loaded(golden, golden.config);
    auto input = golden.input("plain");
    input.drop = at::tensor({0, 1}).to(at::kBool);
    auto const dropped = model.forward(input);
    input.drop = at::Tensor();
    input.y[1][0].copy_(golden.tensor("weights", "y_embedder.y_embedding"));
    EXPECT_LE(relative_error(dropped, model.forward(input)), kOutputTolerance);
}

/// Against fp32 arithmetic on the same rounded weights and inputs.
TEST(Stdit2Parity, Bf16StaysNear) {
    Golden const golden;
    at::NoGradGuard const no_grad;
    auto const rounded = [](at::Tensor const& t) { return t.to(at::kBFloat16).to(at::kFloat); };
    std::vector<NamedTensor> weights = recorded_weights(golden.content);
    for (auto& entry : weights) entry.tensor = rounded(entry.tensor);
    Stdit2 bf16(golden.config, at::kBFloat16);
    bf16.parameters().load(weights).value();
    Stdit2 fp32(golden.config);
    fp32.parameters().load(weights).value();
    auto input = golden.input("plain");
    for (at::Tensor* tensor : {&input.x, &input.y, &input.timestep}) *tensor = rounded(*tensor);
    EXPECT_LE(relative_error(bf16.forward(input), fp32.forward(input)), 0.015);
}

}  // namespace
}  // namespace osora::worker
