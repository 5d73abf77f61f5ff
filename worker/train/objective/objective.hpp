// The training objective of a rank: a network, and the loss of a micro-batch. One class per kind of
// training; Trainer drives it and knows no network. One thread; wrong shapes are bugs.
#pragma once

#include "plan/activation_choice.hpp"
#include "worker/model/parameters.hpp"
#include "worker/train/objective/rectified_flow.hpp"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace osora::plan {
struct OptimSection;
}

namespace osora::worker {

/// The identity of a sample: with the seed and a purpose it gives the key of its random numbers
/// (sample_rng.hpp).
struct SampleIdentity {
    std::uint64_t id = 0;
    std::uint64_t epoch = 0;
    double fps = 0;
};

/// Frames a second as networks read them: Open-Sora has one value for images, used here for clips
/// of an unknown rate too.
[[nodiscard]] inline double fps_for_network(std::int64_t num_frames, double fps) {
    constexpr double kImageFps = 120;
    return num_frames == 1 || fps <= 0 ? kImageFps : fps;
}

/// Samples of one forward pass, on the device of the network.
struct MicroBatch {
    at::Tensor x;                         // (B, C, T, H, W) fp32: RGB in [-1, 1], or latents
    VideoSize size;                       // of the clips, in pixels
    std::vector<SampleIdentity> samples;  // B
    at::Tensor text;                      // (B, L, C): embedded captions; undefined: null captions
    at::Tensor text_mask;                 // (B, L) on the CPU, != 0 is a token; undefined: all are
    at::Tensor pooled;                    // (B, V): CLIP's vectors of the captions, for MMDiT
};

/// Figures for people besides the loss, by name: "psnr_db", "codes_used".
using Figures = std::map<std::string, double>;

class Objective {
public:
    virtual ~Objective() = default;

    [[nodiscard]] virtual Parameters& parameters() = 0;
    /// Another stage of the run begins: the rate of what the objective itself trains.
    virtual void use(plan::OptimSection const& /*optim*/) {}
    /// Called before the first micro-batch of step `step`, also if the previous step was skipped.
    virtual void begin_step(int /*step*/) {}
    /// Whether something starts from samples: then all ranks call see() before their first pass,
    /// which may run out of memory, and, if none did, start(), which may exchange data. Not in a
    /// pass: a rank that runs out of memory there would leave the others waiting.
    [[nodiscard]] virtual bool awaits_samples() const { return false; }
    virtual void see(MicroBatch const& /*first*/) {}
    virtual void start() {}
    /// Mean over the samples with its graph, a scalar in fp32; 0 on a pipeline's stages before the
    /// last, whose backward takes the next stage's gradient.
    [[nodiscard]] virtual at::Tensor loss(MicroBatch const& batch) = 0;
    /// Loss of held-out samples, without a graph: depends only on the content of a checkpoint.
    [[nodiscard]] virtual at::Tensor held_out_loss(MicroBatch const& batch) { return loss(batch); }
    /// Called after each update of the weights; not in a step that is skipped.
    virtual void after_update() {}

    /// Tensors besides the network that training continues from (a discriminator, its optimizer):
    /// live, saved with a checkpoint and overwritten when one is restored. Names must be unique.
    [[nodiscard]] virtual std::vector<NamedTensor> state() const { return {}; }
    /// Of the last step. Reported and saved with each checkpoint.
    [[nodiscard]] virtual Figures figures() const { return {}; }

    /// The network's recompute choice, read before each pass; may be changed between passes. None:
    /// it has no choice.
    [[nodiscard]] std::shared_ptr<plan::RecomputeChoice> const& recompute_choice() const {
        return recompute_;
    }
    void set_recompute(std::shared_ptr<plan::RecomputeChoice> choice) {
        recompute_ = std::move(choice);
    }

private:
    std::shared_ptr<plan::RecomputeChoice> recompute_;
};

}  // namespace osora::worker
