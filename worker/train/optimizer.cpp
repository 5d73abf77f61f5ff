#include "worker/train/optimizer.hpp"

#include "base/check.hpp"

#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_lerp.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <utility>

namespace osora::worker {

namespace {

/// Gradients of this many numbers are held in fp32 at a time.
constexpr std::int64_t kGroupItems = std::int64_t{64} << 20;

}  // namespace

AdamW::AdamW(std::vector<at::Tensor> parameters, AdamWConfig const& config)
    : config_(config), parameters_(std::move(parameters)) {
    has_masters_ = std::ranges::any_of(
        parameters_, [](at::Tensor const& p) { return p.scalar_type() != at::kFloat; });
    for (auto const& parameter : parameters_) {
        values_.push_back(has_masters_ ? parameter.detach().to(at::kFloat) : parameter);
        exp_avg_.push_back(at::zeros_like(values_.back()));
        exp_avg_sq_.push_back(at::zeros_like(values_.back()));
    }
}

void AdamW::step(double lr, at::Tensor const& grad_scale) {
    at::NoGradGuard const no_grad;
    ++steps_;
    if (!has_masters_) return update(0, parameters_.size(), lr, grad_scale);
    for (std::size_t begin = 0, end = 0; begin < parameters_.size(); begin = end) {
        std::int64_t items = 0;
        while (end < parameters_.size() && items < kGroupItems) items += parameters_[end++].numel();
        update(begin, end, lr, grad_scale);
    }
    copy_back();
}

void AdamW::copy_back() {
    at::NoGradGuard const no_grad;
    if (has_masters_) at::_foreach_copy_(parameters_, values_);
}

/// For the parameters [begin, end).
void AdamW::update(std::size_t begin, std::size_t end, double lr, at::Tensor const& grad_scale) {
    std::vector<at::Tensor> values, grads, averages, squares;
    for (std::size_t i = begin; i < end; ++i) {
        if (!parameters_[i].grad().defined()) continue;
        values.push_back(values_[i]);
        grads.push_back(parameters_[i].grad().to(at::kFloat));
        averages.push_back(exp_avg_[i]);
        squares.push_back(exp_avg_sq_[i]);
    }
    if (values.empty()) return;
    // The kernel only reads the count of steps, so one tensor serves all parameters.
    auto const fp32 = values.front().options().requires_grad(false);
    std::vector<at::Tensor> const counts(values.size(),
                                         at::full({}, static_cast<double>(steps_), fp32));
    std::optional<at::Tensor> scale;
    if (grad_scale.defined()) scale = grad_scale;
    at::_fused_adamw_(values, grads, averages, squares, {}, counts, lr, config_.beta1,
                      config_.beta2, config_.weight_decay, config_.eps, /*amsgrad=*/false,
                      /*maximize=*/false, scale, std::nullopt);
}

at::Tensor clip_scale(at::Tensor const& norm, double max_norm) {
    OSORA_CHECK(max_norm > 0);
    return norm.add(1e-6).div_(max_norm).clamp_min_(1);
}

Ema::Ema(std::vector<at::Tensor> const& parameters, double decay) : decay_(decay) {
    OSORA_CHECK(decay >= 0 && decay <= 1);
    if (decay == 0) return;
    parameters_ = parameters;
    for (auto const& parameter : parameters_) values_.push_back(parameter.detach().clone());
}

void Ema::update() {
    at::NoGradGuard const no_grad;
    if (!values_.empty()) at::_foreach_lerp_(values_, parameters_, 1 - decay_);
}

}  // namespace osora::worker
