// Small networks, a forward pass of each, and their gradients.
#pragma once

#include "worker/model/mmdit/mmdit.hpp"
#include "worker/model/stdit/stdit3.hpp"
#include "worker/train/trainable.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace osora::worker {

/// Values that start at 0 would hide what lies behind them.
inline void fill_zero_weights(Parameters& parameters, at::Generator const& generator) {
    at::NoGradGuard const no_graph;
    for (auto const& entry : parameters.all()) {
        if (entry.kind == TensorKind::trainable && entry.tensor.count_nonzero().item<int>() == 0)
            entry.tensor.normal_(0, 0.05, generator);
    }
}

struct SmallStdit3 {
    explicit SmallStdit3(at::ScalarType type = at::kFloat, std::int64_t depth = 2)
        : generator(at::make_generator<at::CPUGeneratorImpl>(1)) {
        Stdit3Config config;
        config.hidden_size = 48;
        config.depth = depth;
        config.num_heads = 4;
        config.caption_channels = 16;
        config.model_max_length = 6;
        model = std::make_unique<Stdit3>(config, type);
        model->initialise(3);
        fill_zero_weights(model->parameters(), generator);
        input.x = at::randn({2, 4, 3, 8, 8}, generator);
        input.timestep = at::tensor({130.0F, 777.0F});
        input.fps = at::tensor({24.0F});
        input.height_px = input.width_px = 64;
        input.y = at::randn({2, 1, 6, 16}, generator).to(type);
        input.y_mask = at::tensor({1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1}).view({2, 6});
        input.drop = at::tensor({0, 1}).to(at::kBool);
        input.x_mask = at::tensor({1, 1, 1, 0, 1, 1}).view({2, 3}).to(at::kBool);
    }
    [[nodiscard]] at::Tensor loss() const { return model->forward(input).square().mean(); }

    at::Generator generator;
    std::unique_ptr<Stdit3> model;
    Stdit3Input input;
};

struct SmallMmdit {
    explicit SmallMmdit(bool fused_qkv, at::ScalarType type = at::kFloat)
        : generator(at::make_generator<at::CPUGeneratorImpl>(1)) {
        MmditConfig config = mmdit_config("mmdit-tiny").value();
        config.fused_qkv = fused_qkv;
        model = std::make_unique<Mmdit>(config, type);
        model->initialise(3);
        fill_zero_weights(model->parameters(), generator);
        input.img = at::randn({2, 12, config.in_channels}, generator);
        input.img_ids = at::randint(0, 5, {2, 12, 3}, generator).to(at::kFloat);
        input.txt = at::randn({2, 5, config.context_in_dim}, generator);
        input.txt_ids = at::zeros({2, 5, 3});
        input.timesteps = at::tensor({0.2F, 0.9F});
        input.y_vec = at::randn({2, config.vec_in_dim}, generator);
        if (config.guidance_embed) input.guidance = at::tensor({1.0F, 4.0F});
        if (config.cond_embed) input.cond = at::randn({2, 12, config.cond_channels()}, generator);
    }
    [[nodiscard]] at::Tensor loss() const {
        return model->forward(input).to(at::kFloat).square().mean();
    }

    at::Generator generator;
    std::unique_ptr<Mmdit> model;
    MmditInput input;
};

/// Of each trainable tensor; the model's gradients are as before.
template <typename Model>
std::vector<at::Tensor> gradients_of_loss(Model& small) {
    small.model->parameters().clear_gradients();
    small.loss().backward();
    std::vector<at::Tensor> found;
    for (auto const& each : small.model->parameters().trainable())
        found.push_back(each.grad().defined() ? each.grad().clone() : at::Tensor());
    small.model->parameters().clear_gradients();
    return found;
}

}  // namespace osora::worker
