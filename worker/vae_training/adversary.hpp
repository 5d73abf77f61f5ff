// The discriminator beside an autoencoder in training, as Open-Sora v1.2 trains it
// (scripts/train_vae.py, losses.py AdversarialLoss and DiscriminatorLoss with hinge): its loss for
// the autoencoder with VQGAN's adaptive weight, its own gradients, its own AdamW. Driven by
// VaeObjective; one thread.
#pragma once

#include "worker/parallel/process_group.hpp"
#include "worker/train/optimizer.hpp"
#include "worker/vae_training/discriminator.hpp"

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace osora::worker {

struct AdversaryConfig {
    DiscriminatorConfig discriminator;
    double weight = 0.5;  // Open-Sora's generator_factor
    int start = 0;        // first step in which it takes part
    double lr = 1e-5;
    std::int64_t warmup_steps = 0;
};

class Adversary {
public:
    Adversary(AdversaryConfig const& config, std::uint64_t seed, at::TensorOptions options);

    [[nodiscard]] bool takes_part(int step) const { return step >= config_.start; }

    /// From now on; the steps of the warm-up count from its own first one.
    void set_rate(double lr) { config_.lr = lr; }

    /// weight x adaptive weight x -mean logits of `fake` (B, 3, T, H, W); the adaptive weight is
    /// |gradient of nll| / |gradient of this loss| at `last_layer`, at most 1e4.
    [[nodiscard]] at::Tensor loss(at::Tensor const& fake, at::Tensor const& nll,
                                  at::Tensor const& last_layer);

    /// Adds a micro-batch to the gradients of its own step.
    void learn(at::Tensor const& real, at::Tensor const& fake);
    /// Discards gradients since the last update, because the previous step was skipped.
    void forget();
    /// One optimizer step, by the mean over the clips of all ranks; none if that is not finite.
    void update(std::optional<Group> const& group);
    /// Updates since the start of the process whose gradient was not finite.
    [[nodiscard]] int left_out() const { return left_out_; }

    /// Live: weights, moments and the number of steps, for checkpoints.
    [[nodiscard]] std::vector<NamedTensor> state() const;

private:
    AdversaryConfig config_;
    Discriminator discriminator_;
    std::vector<at::Tensor> weights_;
    AdamW optimizer_;
    std::vector<at::Tensor> sums_;  // of gradients over clips; empty: nothing learned
    at::Tensor clips_;              // (1): how many
    at::Tensor steps_;              // (1) int64
    int left_out_ = 0;
};

}  // namespace osora::worker
