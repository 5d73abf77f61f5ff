// One rank's training step: micro-batches through the network, gradients reduced while backward
// goes on, clip, AdamW, EMA. Drives objective, optimizer and reducer; decides nothing about data or
// time.
#pragma once

#include "base/result.hpp"
#include "plan/job_stage.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/grad_reducer.hpp"
#include "worker/train/checkpoint.hpp"
#include "worker/train/loss_scale.hpp"
#include "worker/train/objective.hpp"
#include "worker/train/optimizer.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace osora::worker {

/// The samples of one step on this rank.
struct StepInput {
    int step = 0;
    std::span<std::uint8_t const> pixels;  // (N, T, H, W, 3) RGB; unread where there are latents
    at::Tensor latents;                    // (N, C, T', H', W') fp32 on the CPU, or undefined
    at::Tensor text, text_mask, pooled;    // as MicroBatch, on the CPU; undefined: null captions
    std::int64_t samples = 0, frames = 0, height = 0, width = 0;  // of the clips, in pixels
    std::vector<SampleIdentity> identities;                       // N
    std::int64_t micro_batch_size = 1;
    std::int64_t global_samples = 1;  // of all ranks
    /// Called when this rank's own work is done and it begins to wait for the others.
    std::function<void()> on_arrival;
};
struct StepOutput {
    double forward_s = 0, backward_s = 0, exposed_comm_s = 0, optimizer_s = 0;
    double loss = 0;       // mean over this rank's samples
    double grad_norm = 0;  // before clipping
    double lr = 0;
    std::vector<protocol::CollectiveCost> collectives;  // of gradients; none on one rank
    double loss_scale = 1;                              // that the gradients had; fp16 only
    bool skipped = false;  // loss or gradient not finite on some rank: weights unchanged everywhere
};

class Trainer {
public:
    /// `group`: the ranks of the run, or none; on GPUs with NCCL in it. Every rank must bring the
    /// same weights, of which those that are trained have one type.
    Trainer(plan::WorkerJob const& job, std::unique_ptr<Objective> objective,
            std::optional<Group> group, Device device = {});

    [[nodiscard]] Result<StepOutput> step(StepInput const& input);

    /// The objective's loss over all samples of `input`, and nothing else: no gradient, no update.
    [[nodiscard]] Result<double> loss(StepInput const& input);
    /// Another stage of the run: rates, decays and clipping from now on. `rate`: the steps over
    /// which the learning rate warms up and falls; at first those of the run.
    void use(plan::OptimSection const& optim, plan::StepSpan rate);

    /// Weights, moving average and optimizer state under their state-dict names (live, no copies).
    [[nodiscard]] CheckpointTensors tensors() const;
    /// Sets its part of a checkpoint's state.
    void describe(CheckpointState& state) const;
    [[nodiscard]] Result<void> restore(LoadedCheckpoint const& checkpoint);

    [[nodiscard]] Parameters const& parameters() const { return objective_->parameters(); }
    [[nodiscard]] Figures figures() const { return objective_->figures(); }

private:
    [[nodiscard]] MicroBatch micro_batch(StepInput const& input, std::int64_t begin,
                                         std::int64_t end) const;
    [[nodiscard]] StepOutput update(int step, StepOutput output);
    /// What gradients are divided by in the update: the loss scale, and more to clip them.
    [[nodiscard]] at::Tensor divisor(at::Tensor const& norm) const;

    plan::OptimSection optim_;
    plan::StepSpan rate_;  // steps of the learning rate
    Device device_;
    std::unique_ptr<Objective> objective_;
    std::vector<at::Tensor> trainable_;
    AdamW optimizer_;
    Ema ema_;
    GradReducer reducer_;
    NormHistory grad_norms_;
    std::optional<LossScale> loss_scale_;  // fp16
};

}  // namespace osora::worker
