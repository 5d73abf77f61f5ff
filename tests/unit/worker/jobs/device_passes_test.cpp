// Objectives on a device whose tensors have sizes and no values (LibTorch's meta device): what
// mixes them with tensors of the CPU throws there as on a GPU, and so does what reads a value, for
// which the host would wait for a GPU.
#include "plan/model/model_description.hpp"
#include "worker/jobs/rehearse/meta_kernels.hpp"
#include "worker/parallel/sharding/gradient_norm.hpp"
#include "worker/train/objective/mmdit_objective.hpp"
#include "worker/train/objective/stdit3_objective.hpp"
#include "worker/train/optimizer.hpp"
#include "worker/train/trainable.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/library.h>

namespace osora::worker {
namespace {

constexpr std::int64_t kSamples = 2, kTokens = 8;

void expect_together(std::initializer_list<at::Tensor> tensors) {
    for (at::Tensor const& each : tensors)
        TORCH_CHECK(each.is_meta(), "a tensor of the CPU among those of the device");
}

at::Tensor mse_loss_backward(at::Tensor const& gradient, at::Tensor const& x,
                             at::Tensor const& target, std::int64_t /*reduction*/) {
    expect_together({gradient, x, target});
    return at::empty_like(x);
}

at::Tensor index_select(at::Tensor const& x, std::int64_t dimension, at::Tensor const& index) {
    expect_together({x, index});
    auto sizes = x.sizes().vec();
    sizes[static_cast<std::size_t>(dimension)] = index.numel();
    return at::empty(sizes, x.options());
}

/// Reads and changes in place; the last arguments are numbers and switches.
void fused_adamw(c10::OperatorHandle const& operation, torch::jit::Stack* stack) {
    auto const count = operation.schema().arguments().size();
    for (c10::IValue const& each : torch::jit::last(*stack, count)) {
        if (each.isTensor()) expect_together({each.toTensor()});
        if (!each.isTensorList()) continue;
        for (at::Tensor const& one : each.toTensorVector()) expect_together({one});
    }
    torch::jit::drop(*stack, count);
}

/// Of what rehearsals do not use.
TORCH_LIBRARY_IMPL(aten, Meta, more) {
    more.impl("mse_loss_backward", mse_loss_backward);
    more.impl("index_select", index_select);
    more.impl("_fused_adamw_", torch::CppFunction::makeFromBoxedFunction<&fused_adamw>());
}

struct Case {
    std::string name, arch;
    at::ScalarType type = at::kFloat;
    bool captions = false;
    bool masks = false;  // frames that are given
    int lora_rank = 0;
    plan::RecomputeChoice recompute = {};
};

class DevicePasses : public testing::TestWithParam<Case> {
protected:
    static at::TensorOptions options() {
        return at::TensorOptions(GetParam().type).device(at::kMeta);
    }
    template <class Network, class Made, class Config, class Training>
    static std::unique_ptr<Objective> made(Config const& config, Training training) {
        training.caption_drop_prob = 0.5;
        Network network(config, options());
        network.set_recompute(std::make_shared<plan::RecomputeChoice>(GetParam().recompute));
        return std::make_unique<Made>(std::move(network), std::move(training));
    }
    static std::unique_ptr<Objective> objective(plan::ModelShape const& shape) {
        if (shape.family == plan::ModelFamily::mmdit)
            return made<Mmdit, MmditObjective>(mmdit_config(shape).value(), MmditTraining{});
        Stdit3Training training;
        if (GetParam().masks)
            training.frame_masks = MaskMixture::make({{MaskStrategy::random, 1.0}}).value();
        if (shape.family == plan::ModelFamily::stdit2)
            return made<Stdit2, Stdit2Objective>(stdit2_config(shape).value(), training);
        return made<Stdit3, Stdit3Objective>(stdit3_config(shape).value(), training);
    }
    static MicroBatch batch(plan::ModelShape const& shape) {
        auto const floats = at::TensorOptions(at::kFloat).device(at::kMeta);
        MicroBatch batch;
        batch.x = at::empty({kSamples, shape.in_channels, 4, 8, 8}, floats);
        batch.size = {64, 64, 16};
        for (std::int64_t i = 0; i < kSamples; ++i)
            batch.samples.push_back({.id = static_cast<std::uint64_t>(i), .fps = 24});
        if (!GetParam().captions) return batch;
        batch.text = at::empty({kSamples, kTokens, shape.caption_channels}, floats);
        batch.text_mask = at::ones({kSamples, kTokens}, at::kLong);  // on the CPU, as loaded
        batch.text_mask[1][kTokens - 1] = 0;
        if (shape.family == plan::ModelFamily::mmdit)
            batch.pooled = at::empty({kSamples, shape.pooled_channels}, floats);
        return batch;
    }
};

TEST_P(DevicePasses, MixNothingAndReadNothing) {
    add_meta_kernels();
    auto const shape = plan::model_shape(GetParam().arch).value();
    auto const trained = objective(shape);
    plan::OptimSection optim;
    optim.lora_rank = GetParam().lora_rank;
    ASSERT_TRUE(choose_trainable(trained->parameters(), optim, 1).has_value());
    at::Tensor const loss = trained->loss(batch(shape));
    EXPECT_TRUE(loss.is_meta());
    loss.backward();
    auto const parameters = trained->parameters().trainable();
    ASSERT_FALSE(parameters.empty());
    for (at::Tensor const& each : parameters) EXPECT_TRUE(each.grad().defined());
    at::NoGradGuard const no_grad;
    at::Tensor const norm = global_norm(gradients_of(parameters));
    AdamW optimizer(parameters, {});
    Ema ema(optimizer.values(), 0.99);
    optimizer.step(1e-3, clip_scale(norm, 1.0));
    ema.update();
}
INSTANTIATE_TEST_SUITE_P(
    Objectives, DevicePasses,
    testing::Values(Case{"stdit3", "stdit3-tiny"},
                    Case{.name = "stdit3_captions", .arch = "stdit3-tiny", .captions = true},
                    Case{.name = "stdit3_masks", .arch = "stdit3-tiny", .masks = true},
                    Case{.name = "stdit3_bf16",
                         .arch = "stdit3-tiny",
                         .type = at::kBFloat16,
                         .captions = true,
                         .masks = true},
                    Case{.name = "stdit3_full",
                         .arch = "stdit3-tiny",
                         .captions = true,
                         .recompute = plan::RecomputeChoice::full()},
                    Case{.name = "stdit3_lora", .arch = "stdit3-tiny", .lora_rank = 4},
                    Case{.name = "stdit2", .arch = "stdit2-tiny", .captions = true, .masks = true},
                    Case{"mmdit", "mmdit-tiny"},
                    Case{.name = "mmdit_captions", .arch = "mmdit-tiny", .captions = true},
                    Case{.name = "mmdit_bf16",
                         .arch = "mmdit-tiny",
                         .type = at::kBFloat16,
                         .captions = true,
                         .lora_rank = 4}),
    [](auto const& info) { return info.param.name; });

}  // namespace
}  // namespace osora::worker
