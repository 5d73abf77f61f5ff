#include "worker/vae_training/adversary.hpp"

#include "worker/train/learning_rate.hpp"
#include "worker/vae_training/sum_over_ranks.hpp"

#include <ATen/ops/clamp.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <utility>

namespace osora::worker {
namespace {

constexpr double kWeightNormEps = 1e-4, kWeightMost = 1e4;

void want_gradients(std::vector<at::Tensor>& weights, bool wanted) {
    for (at::Tensor& each : weights) each.set_requires_grad(wanted);
}

bool all_finite(std::vector<at::Tensor> const& tensors) {
    at::Tensor largest = at::zeros({}, tensors.front().options());
    for (at::Tensor const& each : tensors) largest = at::maximum(largest, each.abs().max());
    return std::isfinite(largest.item<double>());  // the largest of numbers and NaN is NaN
}

at::Tensor norm_at(at::Tensor const& loss, at::Tensor const& weights) {
    return torch::autograd::grad({loss}, {weights}, {}, true)[0].norm();
}

}  // namespace

Adversary::Adversary(AdversaryConfig const& config, std::uint64_t seed, at::TensorOptions options)
    : config_(config),
      discriminator_(config.discriminator, seed, options),
      weights_(discriminator_.parameters().trainable()),
      optimizer_(weights_, {.lr = config.lr}),
      clips_(at::zeros({1}, options)),
      steps_(at::zeros({1}, at::kLong)) {}

at::Tensor Adversary::loss(at::Tensor const& fake, at::Tensor const& nll,
                           at::Tensor const& last_layer) {
    want_gradients(weights_, false);
    at::Tensor const plain = discriminator_(fake).mean().neg();
    at::Tensor const adaptive =
        at::clamp(norm_at(nll, last_layer).div(norm_at(plain, last_layer).add(kWeightNormEps)), 0.0,
                  kWeightMost)
            .detach();
    return plain.mul(adaptive.mul(config_.weight));
}

void Adversary::learn(at::Tensor const& real, at::Tensor const& fake) {
    want_gradients(weights_, true);
    at::Tensor const loss =
        hinge_loss(discriminator_(real.detach()), discriminator_(fake.detach()));
    auto const gradients = torch::autograd::grad({loss}, weights_);
    at::NoGradGuard const no_grad;
    auto const clips = static_cast<double>(real.size(0));
    if (sums_.empty())
        for (at::Tensor const& each : gradients) sums_.push_back(each.mul(clips));
    else
        for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i].add_(gradients[i], clips);
    clips_.add_(clips);
}

void Adversary::forget() {
    sums_.clear();
    clips_.zero_();
}

void Adversary::update(std::optional<Group> const& group) {
    bool const alone = !group || group->world_size() == 1;
    if (alone && sums_.empty()) return;
    at::NoGradGuard const no_grad;
    // The clips of this rank may have been too short to judge, and those of others not.
    if (sums_.empty())
        for (at::Tensor const& each : weights_) sums_.push_back(at::zeros_like(each));
    auto all = sums_;
    all.push_back(clips_);
    sum_over_ranks(group, all);
    if (clips_.item<double>() == 0) return forget();
    // The same sums on every rank: all leave out the same updates.
    if (!all_finite(sums_)) {
        ++left_out_;
        return forget();
    }
    for (std::size_t i = 0; i < weights_.size(); ++i)
        weights_[i].mutable_grad() = sums_[i].div_(clips_);
    std::int64_t const done = steps_.item<std::int64_t>();
    optimizer_.set_steps(done);
    optimizer_.step(learning_rate({.lr = config_.lr, .warmup_steps = config_.warmup_steps}, done));
    steps_.fill_(done + 1);
    for (at::Tensor& each : weights_) each.mutable_grad() = at::Tensor();
    forget();
}

std::vector<NamedTensor> Adversary::state() const {
    std::vector<NamedTensor> state;
    auto const add = [&](std::string const& prefix, std::vector<at::Tensor> const& tensors) {
        std::size_t next = 0;
        for (auto const& each : discriminator_.parameters().all())
            state.push_back({prefix + each.name, tensors[next++], TensorKind::buffer});
    };
    add("discriminator.", weights_);
    add("discriminator_exp_avg.", optimizer_.exp_avg());
    add("discriminator_exp_avg_sq.", optimizer_.exp_avg_sq());
    state.push_back({"discriminator_steps", steps_, TensorKind::buffer});
    return state;
}

}  // namespace osora::worker
