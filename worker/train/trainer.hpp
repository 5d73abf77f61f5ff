// One rank's training step: micro-batches through the network, gradients reduced while backward
// runs, clip, AdamW, EMA. Drives objective, optimizer and the ranks' exchange; decides nothing
// about data or time.
#pragma once

#include "base/result.hpp"
#include "plan/job_stage.hpp"
#include "worker/model/offload/frozen_blocks.hpp"
#include "worker/parallel/device.hpp"
#include "worker/parallel/sharding/data_parallel.hpp"
#include "worker/train/checkpoint.hpp"
#include "worker/train/loss_scale.hpp"
#include "worker/train/memory_guard.hpp"
#include "worker/train/objective/objective.hpp"
#include "worker/train/optimizer.hpp"
#include "worker/train/training_step.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace osora::worker {

class StepLaps;

class Trainer {
public:
    /// `groups`: on GPUs including NCCL; ranks that share tokens or linear layers bring the same
    /// samples, and the objective's network is built for them. Every rank must bring the same
    /// weights, or its slices of them; the trained ones have one type.
    Trainer(plan::WorkerJob const& job, std::unique_ptr<Objective> objective,
            RankGroups const& groups, Device device = {});

    /// If a pass does not fit into memory, all ranks run the step again in smaller ones
    /// (MemoryGuard; docs/rfc/026). out_of_memory: not even that fits, or peers wait inside the
    /// pass.
    [[nodiscard]] Result<StepOutput> step(StepInput const& input);

    /// The objective's loss over all samples of `input`, and nothing else: no gradient, no update.
    /// What does not fit into memory runs again in smaller passes, on this rank alone.
    /// out_of_memory: not even one sample fits, or meets_peers().
    [[nodiscard]] Result<double> loss(StepInput const& input);
    /// Whether ranks wait for each other within a pass, for tokens, layers or parameters.
    [[nodiscard]] bool meets_peers() const { return meets_peers_; }
    /// Starts another stage of the run: rates, decays and clipping from now on. `rate`: the steps
    /// over which the learning rate warms up and falls; initially those of the run.
    void use(plan::OptimSection const& optim, plan::StepSpan rate);

    /// Weights, moving average and optimizer state under their state-dict names (live, no copies):
    /// the parts that this rank updates, and with `common` what every rank has.
    [[nodiscard]] CheckpointParts tensors(bool common = true) const;
    /// The same of all parts that are on this rank, also those that another rank brings.
    [[nodiscard]] CheckpointParts held_parts() const { return live(true, false); }
    /// Whether every rank has a part of each checkpoint; else all have the whole.
    [[nodiscard]] bool is_sharded() const { return ranks_->is_sharded(); }
    /// Sets its part of a checkpoint's state.
    void describe(CheckpointState& state) const;
    /// All ranks call it. `on_tensor`: called after each tensor, as reading may take long.
    [[nodiscard]] Result<void> restore(LoadedCheckpoint const& checkpoint,
                                       std::function<void()> const& on_tensor = {});

    [[nodiscard]] Parameters const& parameters() const { return objective_->parameters(); }
    [[nodiscard]] Figures figures() const { return objective_->figures(); }

private:
    [[nodiscard]] MicroBatch micro_batch(StepInput const& input, std::int64_t begin,
                                         std::int64_t end) const;
    /// `of_pieces`, one each of the pieces, under the names of what is trained; none of none.
    /// `mine`: of those alone that this rank brings to checkpoints.
    [[nodiscard]] std::vector<TensorParts> trained(std::vector<at::Tensor> const& of_pieces,
                                                   bool mine) const;
    /// What is not trained, or its part that is here.
    [[nodiscard]] TensorParts kept(NamedTensor const& own, bool common, bool mine) const;
    /// The last stage's, on every rank.
    [[nodiscard]] at::Tensor loss_of_network(at::Tensor const& own) const;
    /// For a checkpoint, or all that one gives back.
    [[nodiscard]] CheckpointParts live(bool common, bool mine) const;
    /// The passes of a step: what is known of it, and the sum of its samples' losses (0-d, fp64, on
    /// the device; undefined: they were abandoned).
    struct Passed {
        StepOutput output;
        at::Tensor loss_sum;
    };
    /// Clip, AdamW, EMA. Reads norm and loss: the host waits until a GPU has done the passes.
    [[nodiscard]] StepOutput update(StepInput const& input, Passed passed, StepLaps& laps);
    /// What the objective starts from, once. False: a rank lacked memory for it, and all abandoned
    /// the step.
    [[nodiscard]] Result<bool> start_objective(StepInput const& input);
    /// Micro-batches forward and backward (pass_order). Sets `lacked_`.
    [[nodiscard]] Result<Passed> passes(StepInput const& input, StepLaps& laps);
    /// What peers wait for in the pass that begins with sample `begin`, and in those after it;
    /// `began`: ranks_->begin() was called for it.
    [[nodiscard]] Result<void> abandon(StepInput const& input, std::int64_t begin, bool began);
    /// Passes and update, once. The host queues on while a GPU computes; it waits when its own
    /// passes are done (on_arrival), for the norm, and at the end.
    [[nodiscard]] Result<StepOutput> attempt(StepInput const& input);
    /// Uses the step's recompute choice, unless memory ran out before.
    void use_recompute(StepInput const& input);
    /// Back to what fitted before, or smaller passes of this size of clips; an Error where neither
    /// is possible.
    [[nodiscard]] Result<void> shrink(StepInput& input);
    /// Of all samples of `input`, in passes of its micro-batch size.
    [[nodiscard]] double mean_loss(StepInput const& input);
    /// For others, in this step so far, s.
    [[nodiscard]] double waited_s() const;
    /// That of ranks which share tokens or linear layers.
    [[nodiscard]] double shared_s() const;
    /// What gradients are divided by in the update: the loss scale, and more to clip them.
    [[nodiscard]] at::Tensor divisor(at::Tensor const& norm) const;

    plan::OptimSection optim_;
    plan::StepSpan rate_;  // steps of the learning rate
    Device device_;
    std::unique_ptr<Objective> objective_;
    std::unique_ptr<FrozenBlocks> frozen_;  // null: frozen parameters stay on the device
    std::unique_ptr<DataParallel> ranks_;
    std::optional<Group> group_;
    std::vector<std::shared_ptr<StepExchange>> sharing_;  // of samples' tokens and of layers
    std::shared_ptr<PipelineRanks> stages_;               // null: one rank has all blocks
    std::shared_ptr<SequenceRanks> network_;              // with stages_: ranks of the network
    bool leads_slices_ = true, leads_stage_ = true;       // bring those that are not trained
    bool meets_peers_ = false;
    MemoryGuard guard_, held_out_guard_;  // of training, the same on all ranks; of loss()
    bool guarded_ = true;                 // debug.memory_guard
    bool recomputes_all_ = false;         // since a pass of one sample did not fit
    std::optional<std::string> lacked_;   // in the passes of this attempt: what the allocator said
    AdamW optimizer_;                     // of the pieces of this rank
    Ema ema_;
    NormHistory grad_norms_;
    std::optional<LossScale> loss_scale_;  // fp16
};

}  // namespace osora::worker
