// STDiT3 against tensors that Open-Sora v1.2 itself computed (tests/data/parity/README.md).
#include "compare.hpp"
#include "recorded.hpp"
#include "worker/model/stdit/stdit3.hpp"

#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

namespace osora::worker {
namespace {

struct Case {
    SafetensorsContent content;
    Stdit3 model;
    std::string variant;  // "" or "drop101/"

    at::Tensor tensor(std::string const& group, std::string const& name) const {
        auto const* found = content.find(group + "/" + variant + name);
        return found == nullptr ? at::Tensor() : found->clone();
    }
    Stdit3Input input() const {
        Stdit3Input input;
        input.x = tensor("in", "x");
        input.timestep = tensor("in", "timestep");
        input.fps = tensor("in", "fps");
        input.height_px = tensor("in", "height")[0].item<double>();
        input.width_px = tensor("in", "width")[0].item<double>();
        input.y = tensor("in", "y");
        input.y_mask = tensor("in", "mask");
        input.x_mask = tensor("in", "x_mask");
        if (auto const drop = tensor("in", "force_drop_ids"); drop.defined())
            input.drop = drop.eq(1);
        return input;
    }
};

Case open_case(std::string const& name, std::string variant = "") {
    auto content = recorded("parity/" + name);
    Stdit3 model(parse_stdit3_config(content.metadata.at("config")).value());
    model.parameters().load(recorded_weights(content)).value();
    return {std::move(content), std::move(model), std::move(variant)};
}

/// A gradient that is 0 in exact arithmetic in one half is compared against the whole's norm.
void expect_gradients(Case const& test) {
    std::size_t compared = 0;
    for (auto const& entry : test.model.parameters().all()) {
        auto const expected = test.tensor("grad", entry.name);
        if (!expected.defined()) continue;
        ++compared;
        EXPECT_LE(relative_error(entry.tensor.grad(), expected), kFp32Gradient) << entry.name;
    }
    EXPECT_EQ(compared, test.model.parameters().trainable().size());
}

void expect_forward_and_gradients(Case const& test) {
    auto input = test.input();
    input.x.set_requires_grad(true);
    auto const out = test.model.forward(input);
    EXPECT_LE(relative_error(out, test.tensor("out", "out")), kFp32Output);
    auto const loss = out.mul(test.tensor("in", "loss_weight")).sum();
    loss.backward();
    EXPECT_LE(relative_error(loss.view({1}), test.tensor("out", "loss")), kFp32Loss);
    EXPECT_LE(relative_error(input.x.grad(), test.tensor("grad_in", "x")), kFp32Gradient);
    expect_gradients(test);
}

TEST(Stdit3Parity, ForwardAndGradients) {  //
    expect_forward_and_gradients(open_case("A1_stdit3_plain"));
}

TEST(Stdit3Parity, GivenFramesAndTextMask) {
    expect_forward_and_gradients(open_case("A4_stdit3_xmask"));
}

TEST(Stdit3Parity, TextLengths) {
    auto const test = open_case("A5_stdit3_textlens");
    EXPECT_LE(relative_error(test.model.forward(test.input()), test.tensor("out", "out")),
              kFp32Output);
}

TEST(Stdit3Parity, DroppedCaptions) {
    auto const test = open_case("A8_stdit3_caption_drop", "drop101/");
    ASSERT_TRUE(test.input().drop.defined());
    EXPECT_LE(relative_error(test.model.forward(test.input()), test.tensor("out", "out")),
              kFp32Output);
}

TEST(Stdit3Parity, NullCaptionsEqualDroppingAll) {
    auto const test = open_case("A1_stdit3_plain");
    auto input = test.input();
    input.drop = at::ones({2}, at::kBool);
    auto const dropped = test.model.forward(input);
    input.y = input.drop = at::Tensor();
    EXPECT_LE(relative_error(test.model.forward(input), dropped), kFp32Output);
}

/// Against fp32 arithmetic on the same rounded weights and inputs.
TEST(Stdit3Parity, Bf16StaysNear) {
    auto const test = open_case("A1_stdit3_plain");
    at::NoGradGuard const no_grad;
    auto const rounded = [](at::Tensor const& t) { return t.to(at::kBFloat16).to(at::kFloat); };
    Stdit3 bf16(test.model.config(), at::kBFloat16);
    std::vector<NamedTensor> weights;
    for (auto const& entry : test.model.parameters().all())
        weights.push_back({entry.name, rounded(entry.tensor)});
    bf16.parameters().load(weights).value();
    Stdit3 fp32(test.model.config());
    fp32.parameters().load(weights).value();
    auto input = test.input();
    for (at::Tensor* tensor : {&input.x, &input.y, &input.timestep}) *tensor = rounded(*tensor);
    EXPECT_LE(relative_error(bf16.forward(input), fp32.forward(input)), 0.015);
}

}  // namespace
}  // namespace osora::worker
