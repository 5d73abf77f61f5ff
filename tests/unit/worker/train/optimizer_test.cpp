// AdamW, clipping, warm-up and EMA in fp32 against torch.optim
// (tests/data/train/make_adamw_golden.py).
#include "worker/train/optimizer.hpp"

#include "worker/parallel/sharding/gradient_norm.hpp"

#include "tests/parity/compare.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/learning_rate.hpp"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <string>

namespace osora::worker {
namespace {

std::string key(std::string const& name, int step, std::size_t i) {
    return name + "." + std::to_string(step) + "." + std::to_string(i);
}

TEST(Optimizer, FollowsTorch) {
    auto const golden =
        load_safetensors(OSORA_SOURCE_DIR "/tests/data/train/adamw_golden.safetensors").value();
    auto const tensor = [&](std::string const& name) { return golden.find(name)->clone(); };
    std::vector<at::Tensor> parameters;
    for (std::size_t i = 0; i < 3; ++i)
        parameters.push_back(tensor("in/param." + std::to_string(i)).set_requires_grad(true));
    AdamW optimizer(parameters, {.beta2 = 0.99, .weight_decay = 0.1});
    Ema ema(parameters, 0.9);
    for (int step = 0; step < 5; ++step) {
        for (std::size_t i = 0; i < 3; ++i)
            parameters[i].mutable_grad() = tensor(key("in/grad", step, i));
        auto const norm = global_norm(gradients_of(parameters));
        double const lr = learning_rate({.lr = 1e-2, .warmup_steps = 3}, step);
        optimizer.step(lr, clip_scale(norm, 1.0));
        ema.update();
        auto const number = "." + std::to_string(step);
        EXPECT_NEAR(lr, tensor("out/lr" + number).item<double>(), 1e-9);
        EXPECT_LE(relative_error(norm.view({1}), tensor("out/norm" + number)), kFp32Steps);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_LE(relative_error(parameters[i], tensor(key("out/param", step, i))), kFp32Steps);
            EXPECT_LE(relative_error(ema.values()[i], tensor(key("out/ema", step, i))), kFp32Steps);
        }
    }
    EXPECT_EQ(optimizer.steps(), 5);
}

TEST(Optimizer, LeavesParametersWithoutAGradientAlone) {
    std::vector<at::Tensor> const parameters{at::ones({4}), at::ones({4})};
    AdamW optimizer(parameters, {.weight_decay = 0.5});
    parameters[0].mutable_grad() = at::full({4}, 2.0);
    optimizer.step(0.1);
    EXPECT_LT(parameters[0].max().item<float>(), 1.0f);
    EXPECT_EQ(parameters[1].min().item<float>(), 1.0f);
    EXPECT_EQ(gradients_of(parameters).size(), 1u);
}

TEST(Optimizer, EmaOfHalfPrecisionWeightsIsKeptInFp32) {
    std::vector<at::Tensor> const parameters{at::ones({4}, at::kBFloat16)};
    AdamW const optimizer(parameters, {});
    Ema ema(optimizer.values(), 0.999);
    optimizer.values()[0].fill_(2);
    ema.update();
    EXPECT_EQ(ema.values()[0].scalar_type(), at::kFloat);
    EXPECT_NEAR(ema.values()[0][0].item<double>(), 1.001, 1e-6);  // bf16 would stay at 1
}

}  // namespace
}  // namespace osora::worker
