// What a training step is given, and what comes out of it. Value types of the trainer.
#pragma once

#include "plan/activation_choice.hpp"
#include "protocol/steps/collectives.hpp"
#include "worker/train/memory_guard.hpp"
#include "worker/train/objective/objective.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace osora::worker {

/// How the passes of a step are run.
struct PassChoice {
    std::int64_t micro_batch_size = 1;
    std::optional<plan::RecomputeChoice> recompute = {};  // none: as it was
};

/// The samples of one step on this rank.
struct StepInput {
    int step = 0;
    std::span<std::uint8_t const> pixels;  // (N, T, H, W, 3) RGB; unused if there are latents
    at::Tensor latents;                    // (N, C, T', H', W') fp32 on the CPU, or undefined
    at::Tensor text, text_mask, pooled;    // as MicroBatch, on the CPU; undefined: null captions
    std::int64_t samples = 0, frames = 0, height = 0, width = 0;  // of the clips, in pixels
    std::vector<SampleIdentity> identities;                       // N
    std::int64_t micro_batch_size = 1;
    std::optional<plan::RecomputeChoice> recompute = {};  // from this step on; none: as it was
    /// If the passes do not fit, the step runs again like this, not in smaller ones.
    std::optional<PassChoice> known = {};
    std::int64_t global_samples = 1;  // of all ranks
    /// Called when this rank's own compute is done and it begins to wait for the others.
    std::function<void()> on_arrival;
    /// Called on a rank whose pass did not fit into memory, when the tensors of that pass are gone
    /// and nothing runs yet: it can give back what its allocator keeps.
    std::function<void()> on_lack;
    /// Called when passes did not fit into memory on some rank: the step runs again, or is an error
    /// if nothing more can be done.
    std::function<void(MemoryShortage const&)> on_shortage;
};
struct StepOutput {
    double forward_s = 0, backward_s = 0, exposed_comm_s = 0, optimizer_s = 0;
    double loss = 0;       // mean over this rank's samples
    double grad_norm = 0;  // before clipping
    double lr = 0;
    std::vector<protocol::CollectiveCost> collectives;  // of gradients; none on one rank
    double loss_scale = 1;                              // that the gradients had; fp16 only
    std::int64_t micro_batch_size = 1;                  // of the passes that fitted
    std::optional<plan::RecomputeChoice> recompute;     // in them; none: there is no choice
    bool skipped = false;  // loss or gradient not finite on some rank: weights unchanged everywhere
};

}  // namespace osora::worker
