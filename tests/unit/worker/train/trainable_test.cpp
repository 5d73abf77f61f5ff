// Freeze lists, LoRA adapters and their merge, on stdit3-tiny.
#include "worker/train/trainable.hpp"

#include "plan/model/model_description.hpp"
#include "plan/model/trained_parameters.hpp"
#include "tests/parity/compare.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/model/weights/merge_adapter.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace osora::worker {
namespace {

using testing::HasSubstr;

class Trainable : public testing::Test {
protected:
    Trainable() : model_(stdit3_config("stdit3-tiny").value()) {
        model_.initialise(3);
        at::NoGradGuard const no_grad;
        // Temporal blocks begin at 0: their outputs, and with them their gradients, would too.
        for (NamedTensor const& each : model_.parameters().all()) {
            if (each.kind == TensorKind::trainable)
                each.tensor.add_(at::randn(each.tensor.sizes(), generator_).mul_(0.02));
        }
        input_.x = at::randn({2, 3, frames_, 8, 8}, generator_);
        input_.timestep = at::tensor({100.0, 700.0}).to(at::kFloat);
        input_.fps = at::tensor({24.0}).to(at::kFloat);
        input_.height_px = input_.width_px = 8;
    }

    [[nodiscard]] at::Tensor forward() const { return model_.forward(input_); }
    [[nodiscard]] Result<void> choose(plan::OptimSection const& optim) {
        return choose_trainable(model_.parameters(), optim, 7);
    }
    [[nodiscard]] at::Tensor gradient(std::string const& name) {
        return model_.parameters().find(name)->tensor.grad();
    }
    void backward() {
        model_.parameters().clear_gradients();
        forward().square().sum().backward();
    }
    [[nodiscard]] LoadedAdapter adapter(double scale) const {
        LoadedAdapter found;
        found.scale = scale;
        for (NamedTensor const& each : model_.parameters().all())
            if (each.kind == TensorKind::trainable) found.tensors.push_back(each);
        return found;
    }

    at::Generator generator_ = at::detail::createCPUGenerator(11);
    std::int64_t frames_ = 3;
    Stdit3 model_;
    Stdit3Input input_;
};

TEST_F(Trainable, FrozenTensorsGetNoGradient) {
    auto const before = model_.parameters().trainable().size();
    plan::OptimSection optim;
    optim.freeze = {"spatial_blocks.0.", "x_embedder.proj.weight"};
    ASSERT_TRUE(choose(optim).has_value());
    backward();
    std::size_t trained = 0;
    for (NamedTensor const& each : model_.parameters().all()) {
        bool const frozen = each.name.starts_with("spatial_blocks.0.") ||
                            each.name == "x_embedder.proj.weight" || each.name == "rope.freqs";
        if (each.kind != TensorKind::buffer) {
            EXPECT_EQ(each.tensor.grad().defined(), !frozen) << each.name;
        }
        trained += each.kind == TensorKind::trainable ? 1 : 0;
    }
    EXPECT_EQ(trained, model_.parameters().trainable().size());
    EXPECT_LT(trained, before);
}

TEST_F(Trainable, APrefixThatMatchesNothingIsAnError) {
    plan::OptimSection optim;
    optim.freeze = {"spatial_block.0."};
    auto const wrong = choose(optim);
    ASSERT_TRUE(wrong.has_error());
    EXPECT_EQ(wrong.error().code, Errc::invalid_input);
    EXPECT_THAT(wrong.error().message, HasSubstr("did you mean \"spatial_blocks.0.\"?"));
    optim.freeze = {"zzzzzzzzzzzzzz"};
    EXPECT_THAT(choose(optim).error().message, HasSubstr("there are "));
    optim.freeze = {""};
    EXPECT_TRUE(choose(optim).has_error());
    std::set<std::string> first;
    for (NamedTensor const& each : model_.parameters().all())
        first.insert(each.name.substr(0, each.name.find('.')));
    optim.freeze = {first.begin(), first.end()};
    EXPECT_THAT(choose(optim).error().message, HasSubstr("nothing to train"));
}

TEST_F(Trainable, NewAdaptersChangeNothing) {
    at::Tensor const before = forward();
    plan::OptimSection optim;
    optim.lora_rank = 4;
    ASSERT_TRUE(choose(optim).has_value());
    EXPECT_EQ(relative_error(forward(), before), 0);
    auto const& parameters = model_.parameters();
    auto const config = model_.config();
    // qkv, proj; q_linear, kv_linear, proj; fc1, fc2 of each block, two tensors each.
    EXPECT_EQ(parameters.trainable().size(), static_cast<std::size_t>(2 * config.depth * 7 * 2));
    auto const* a = parameters.find("temporal_blocks.0.attn.qkv.lora_A.weight");
    ASSERT_NE(a, nullptr);
    double const limit = 1 / std::sqrt(static_cast<double>(config.hidden_size));
    EXPECT_LE(a->tensor.abs().max().item<double>(), limit);
    EXPECT_NEAR(a->tensor.std().item<double>(), limit / std::sqrt(3.0), 0.1 * limit);
    EXPECT_EQ(parameters.trainable_count(),
              plan::adapter_parameters(plan::model_shape("stdit3-tiny").value(), 4));
}

// With W' = W + s B A: dA = s B^T dW', dB = s dW' A^T, whatever the layer is part of. dW' is taken
// from the same network with W' for weights.
TEST_F(Trainable, GradientsAreThoseOfTheMergedWeights) {
    Stdit3 merged(model_.config());
    std::vector<NamedTensor> base;
    for (NamedTensor const& each : model_.parameters().all())
        base.push_back({each.name, each.tensor.detach().clone(), each.kind});
    plan::OptimSection optim;
    optim.lora_rank = 3;
    optim.lora_alpha.value = 6;
    ASSERT_TRUE(choose(optim).has_value());
    {
        at::NoGradGuard const no_grad;
        for (NamedTensor const& each : model_.parameters().all())
            if (each.name.ends_with("lora_B.weight"))
                each.tensor.copy_(at::randn(each.tensor.sizes(), generator_).mul_(0.1));
    }
    auto const weights = merge_adapter(base, adapter(2));
    ASSERT_TRUE(weights.has_value());
    ASSERT_TRUE(merged.parameters().load(*weights).has_value());
    for (std::int64_t const frames : {3, 1}) {  // 1: temporal blocks take another path
        input_.x = at::randn({2, 3, frames, 8, 8}, generator_);
        EXPECT_LE(relative_error(forward(), merged.forward(input_)), kFp32Order) << frames;
        backward();
        merged.parameters().clear_gradients();
        merged.forward(input_).square().sum().backward();
        for (LinearSlot const& linear : model_.parameters().linears()) {
            if (!linear.adapter->a.defined()) continue;
            at::Tensor const whole =
                merged.parameters().find(linear.name + ".weight")->tensor.grad();
            EXPECT_LE(relative_error(gradient(linear.name + ".lora_A.weight"),
                                     at::matmul(linear.adapter->b.t(), whole).mul(2)),
                      kFp32Order)
                << linear.name;
            EXPECT_LE(relative_error(gradient(linear.name + ".lora_B.weight"),
                                     at::matmul(whole, linear.adapter->a.t()).mul(2)),
                      kFp32Order)
                << linear.name;
            EXPECT_FALSE(gradient(linear.name + ".weight").defined());
        }
    }
}

TEST_F(Trainable, TargetsAreEndings) {
    plan::OptimSection optim;
    optim.lora_rank = 2;
    optim.lora_targets = {"qkv", "spatial_blocks.1.mlp.fc1"};
    ASSERT_TRUE(choose(optim).has_value());
    EXPECT_EQ(model_.parameters().trainable().size(),
              static_cast<std::size_t>(2 * (2 * model_.config().depth + 1)));
    optim.lora_targets = {"qvk"};
    EXPECT_THAT(choose(optim).error().message, HasSubstr("did you mean \"qkv\"?"));
    optim.lora_targets = {};
    optim.lora_rank = 5000;
    EXPECT_THAT(choose(optim).error().message, HasSubstr("nearest valid: "));
}

TEST_F(Trainable, AdapterFilesAreThoseOfPeft) {
    plan::OptimSection optim;
    optim.lora_rank = 2;
    optim.lora_targets = {"qkv"};
    ASSERT_TRUE(choose(optim).has_value());
    auto const config = boost::json::parse(adapter_config(adapter(1).tensors, 8)).as_object();
    EXPECT_EQ(config.at("peft_type").as_string(), "LORA");
    EXPECT_EQ(config.at("r").to_number<int>(), 2);
    EXPECT_EQ(config.at("lora_alpha").to_number<double>(), 8);
    EXPECT_EQ(config.at("target_modules").as_array().at(0).as_string(),
              "spatial_blocks.0.attn.qkv");
    EXPECT_EQ(plain_name(peft_name("a.lora_A.weight")), "a.lora_A.weight");
    EXPECT_EQ(peft_name("a.lora_A.weight"), "base_model.model.a.lora_A.weight");
}

TEST_F(Trainable, MergeNamesWhatDoesNotFit) {
    std::vector<NamedTensor> const weights{{"blocks.0.fc1.weight", at::ones({4, 3})}};
    auto const message = [&](std::vector<NamedTensor> parts) {
        return merge_adapter(weights, {.tensors = std::move(parts)}).error().message;
    };
    NamedTensor const a{"blocks.0.fc1.lora_A.weight", at::ones({2, 3})};
    EXPECT_THAT(message({a}), HasSubstr("has no pair"));
    EXPECT_THAT(message({a, {"blocks.0.fc1.lora_B.weight", at::ones({5, 2})}}),
                HasSubstr("does not fit blocks.0.fc1.weight"));
    EXPECT_THAT(message({{"block.0.fc1.lora_A.weight", at::ones({2, 3})},
                         {"block.0.fc1.lora_B.weight", at::ones({4, 2})}}),
                HasSubstr("the nearest is blocks.0.fc1.weight"));
}

}  // namespace
}  // namespace osora::worker
