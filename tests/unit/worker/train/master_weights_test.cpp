// AdamW on fp32 masters of bf16 and fp16 parameters, the loss scale and the learning rates against
// PyTorch (tests/data/train/make_trainer_golden.py).
#include "base/files/files.hpp"
#include "protocol/json.hpp"
#include "tests/parity/compare.hpp"
#include "worker/model/weights/safetensors.hpp"
#include "worker/train/learning_rate.hpp"
#include "worker/train/loss_scale.hpp"
#include "worker/train/optimizer.hpp"

#include "worker/parallel/sharding/gradient_norm.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <string>

namespace osora::worker {
namespace {

std::string const kData = OSORA_SOURCE_DIR "/tests/data/train/";

boost::json::object read_golden(std::string const& name) {
    auto const text = read_file(kData + name, 1 << 20);
    return protocol::parse_json(text.value()).value().as_object();
}

std::vector<double> numbers(boost::json::value const& list) {
    std::vector<double> values;
    for (auto const& each : list.as_array()) values.push_back(each.to_number<double>());
    return values;
}

class Masters : public testing::TestWithParam<std::pair<std::string, double>> {};

TEST_P(Masters, FollowTorch) {
    auto const& [type, scale] = GetParam();
    auto const golden = load_safetensors(kData + "master_golden.safetensors").value();
    auto const tensor = [&](std::string const& name) {
        return golden.find(type + "/" + name)->clone();
    };
    std::vector<at::Tensor> parameters;
    for (int i = 0; i < 3; ++i)
        parameters.push_back(tensor("in/param." + std::to_string(i)).set_requires_grad(true));
    AdamW optimizer(parameters, {.beta2 = 0.99, .eps = 1e-15, .weight_decay = 0.1});
    EXPECT_TRUE(optimizer.has_masters());
    for (int step = 0; step < 6; ++step) {
        auto const number = "." + std::to_string(step);
        for (std::size_t i = 0; i < 3; ++i)
            parameters[i].mutable_grad() = tensor("in/grad" + number + "." + std::to_string(i));
        at::Tensor const norm = global_norm(gradients_of(parameters)).div_(scale);
        EXPECT_LE(relative_error(norm.view({1}), tensor("out/norm" + number)), kFp32Steps);
        optimizer.step(1e-2, clip_scale(norm, 1.0).mul_(scale));
        for (std::size_t i = 0; i < 3; ++i) {
            auto const which = number + "." + std::to_string(i);
            EXPECT_LE(relative_error(optimizer.values()[i], tensor("out/master" + which)),
                      kFp32Steps);
            // What is rounded back differs where a master lies on the border of two values.
            EXPECT_LE(relative_error(parameters[i], tensor("out/param" + which)), 1e-3);
            EXPECT_TRUE(at::equal(parameters[i].detach(),
                                  optimizer.values()[i].to(parameters[i].scalar_type())));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types, Masters,
                         testing::Values(std::pair<std::string, double>("bfloat16", 1),
                                         std::pair<std::string, double>("float16", 1024)),
                         [](auto const& each) { return each.param.first; });

// Steps below half of bf16's spacing are lost without masters.
TEST(MasterWeights, SmallStepsAddUp) {
    std::vector<at::Tensor> parameters{at::ones({4}, at::kBFloat16).set_requires_grad(true)};
    AdamW optimizer(parameters, {});
    for (int step = 0; step < 100; ++step) {
        parameters[0].mutable_grad() = at::ones({4}, at::kBFloat16);
        optimizer.step(1e-4);
    }
    EXPECT_NEAR(optimizer.values()[0][0].item<double>(), 0.99, 1e-5);
    EXPECT_NEAR(parameters[0][0].item<double>(), 0.99, 2e-3);
}

TEST(MasterWeights, Fp32HasNoCopies) {
    std::vector<at::Tensor> parameters{at::ones({4}).set_requires_grad(true)};
    AdamW const optimizer(parameters, {});
    EXPECT_FALSE(optimizer.has_masters());
    EXPECT_TRUE(optimizer.values()[0].is_same(parameters[0]));
}

TEST(MasterWeights, TheNormOfHalvesIsTakenInFp32) {
    // 10,000 squares of 100 are beyond fp16.
    std::vector<at::Tensor> const halves{at::full({10000}, 100.0, at::kHalf)};
    EXPECT_NEAR(global_norm(halves).item<double>(), 1e4, 1e-2);
}

TEST(LossScale, FollowsGradScaler) {
    auto const golden = read_golden("grad_scaler.json");
    std::set<int> overflows;
    for (double const step : numbers(golden.at("overflows")))
        overflows.insert(static_cast<int>(step));
    boost::json::array changes;
    LossScale scale;
    for (int step = 0; step < golden.at("steps").to_number<int>(); ++step) {
        LossScale const next = with_step(scale, !overflows.contains(step));
        if (next.scale != scale.scale) changes.push_back({step, next.scale});
        scale = next;
    }
    EXPECT_EQ(changes, golden.at("changes"));
    EXPECT_GE(changes.size(), 10u);
}

TEST(LearningRate, FollowsTorch) {
    auto const golden = read_golden("lr_schedules.json");
    LearningRate rule{.lr = golden.at("lr").to_number<double>(),
                      .lr_min = golden.at("lr_min").to_number<double>(),
                      .warmup_steps = golden.at("warmup_steps").to_number<int>(),
                      .steps = golden.at("steps").to_number<int>()};
    for (auto const& [name, schedule] :
         {std::pair("cosine", LrSchedule::cosine), std::pair("linear", LrSchedule::linear)}) {
        rule.schedule = schedule;
        auto const expected = numbers(golden.at(name));
        ASSERT_GE(expected.size(), 101u);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            double const rate = learning_rate(rule, rule.warmup_steps + static_cast<int>(i));
            EXPECT_NEAR(rate, expected[i], 1e-6 * expected[i]) << name << " " << i;
        }
    }
    EXPECT_DOUBLE_EQ(learning_rate(rule, 4), 3e-4 * 5 / 11);  // Open-Sora's LinearWarmupLR
    rule.schedule = LrSchedule::constant;
    EXPECT_DOUBLE_EQ(learning_rate(rule, 109), 3e-4);
    rule.steps = 5;  // shorter than the warm-up
    rule.schedule = LrSchedule::cosine;
    EXPECT_DOUBLE_EQ(learning_rate(rule, 10), 3e-4);
}

}  // namespace
}  // namespace osora::worker
