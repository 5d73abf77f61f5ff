#include "worker/train/optimizer.hpp"

#include "base/check.hpp"

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

namespace osora::worker {

AdamW::AdamW(std::vector<at::Tensor> parameters, AdamWConfig const& config)
    : config_(config), parameters_(std::move(parameters)) {
    for (auto const& parameter : parameters_) {
        exp_avg_.push_back(at::zeros_like(parameter));
        exp_avg_sq_.push_back(at::zeros_like(parameter));
    }
}

void AdamW::step(double lr, at::Tensor const& grad_scale) {
    at::NoGradGuard const no_grad;
    ++steps_;
    std::vector<at::Tensor> values, grads, averages, squares;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        if (!parameters_[i].grad().defined()) continue;
        values.push_back(parameters_[i]);
        grads.push_back(parameters_[i].grad());
        averages.push_back(exp_avg_[i]);
        squares.push_back(exp_avg_sq_[i]);
    }
    if (values.empty()) return;
    // The kernel only reads the count of steps, so one tensor serves all parameters.
    auto const fp32 = values.front().options().dtype(at::kFloat);
    std::vector<at::Tensor> const counts(values.size(),
                                         at::full({}, static_cast<double>(steps_), fp32));
    std::optional<at::Tensor> scale;
    if (grad_scale.defined()) scale = grad_scale;
    at::_fused_adamw_(values, grads, averages, squares, {}, counts, lr, config_.beta1,
                      config_.beta2, config_.weight_decay, config_.eps, /*amsgrad=*/false,
                      /*maximize=*/false, scale, std::nullopt);
}

at::Tensor global_norm(std::vector<at::Tensor> const& tensors) {
    if (tensors.empty()) return at::zeros({}, at::kFloat);
    return at::stack(at::_foreach_norm(tensors, 2)).to(at::kFloat).norm();
}

std::vector<at::Tensor> gradients_of(std::vector<at::Tensor> const& parameters) {
    std::vector<at::Tensor> gradients;
    for (auto const& parameter : parameters)
        if (parameter.grad().defined()) gradients.push_back(parameter.grad());
    return gradients;
}

at::Tensor clip_scale(at::Tensor const& norm, double max_norm) {
    OSORA_CHECK(max_norm > 0);
    return norm.add(1e-6).div_(max_norm).clamp_min_(1);
}

double warmup_lr(double lr, std::int64_t step, std::int64_t warmup_steps) {
    if (step >= warmup_steps) return lr;
    return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
}

Ema::Ema(std::vector<at::Tensor> parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
    OSORA_CHECK(decay >= 0 && decay <= 1);
    for (auto const& parameter : parameters_)
        values_.push_back(parameter.detach().to(at::kFloat, /*non_blocking=*/false, /*copy=*/true));
}

void Ema::update() {
    at::NoGradGuard const no_grad;
    bool const fp32 = std::ranges::all_of(
        parameters_, [](at::Tensor const& p) { return p.scalar_type() == at::kFloat; });
    if (fp32) {
        at::_foreach_lerp_(values_, parameters_, 1 - decay_);
        return;
    }
    std::vector<at::Tensor> converted;
    for (auto const& parameter : parameters_) converted.push_back(parameter.to(at::kFloat));
    at::_foreach_lerp_(values_, converted, 1 - decay_);
}

}  // namespace osora::worker
