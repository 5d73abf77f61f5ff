// What a rank is trained towards: a network, and the loss of a micro-batch. One class for each kind
// of training; Trainer drives it and knows no network. One thread; wrong shapes are bugs.
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

namespace osora::worker {

/// Who a sample is: with the seed and a purpose the key of its random numbers (sample_rng.hpp).
struct SampleIdentity {
    std::uint64_t id = 0;
    std::uint64_t epoch = 0;
    double fps = 0;
};

/// Samples of one forward pass, on the device of the network.
struct MicroBatch {
    at::Tensor x;                         // (B, C, T, H, W) fp32: RGB in [-1, 1], or latents
    VideoSize size;                       // of the clips, in pixels
    std::vector<SampleIdentity> samples;  // B
    at::Tensor text;                      // (B, L, C): embedded captions; undefined: null captions
    at::Tensor text_mask;                 // (B, L) on the CPU, != 0 is a token; undefined: all are
    at::Tensor pooled;                    // (B, V): CLIP's vectors of the captions, for MMDiT
};

/// What people want to know beside the loss, by name: "psnr_db", "codes_used".
using Figures = std::map<std::string, double>;

class Objective {
public:
    virtual ~Objective() = default;

    [[nodiscard]] virtual Parameters& parameters() = 0;
    /// Before the first micro-batch of step `step`, also when the step before was skipped.
    virtual void begin_step(int /*step*/) {}
    /// Mean over the samples with its graph, a scalar in fp32; 0 on a pipeline's stages before the
    /// last, whose backward takes the next stage's gradient.
    [[nodiscard]] virtual at::Tensor loss(MicroBatch const& batch) = 0;
    /// Of samples that are not trained on, without a graph: by what a checkpoint holds alone.
    [[nodiscard]] virtual at::Tensor held_out_loss(MicroBatch const& batch) { return loss(batch); }
    /// Behind each update of the weights; not called in a step that is skipped.
    virtual void after_update() {}

    /// Tensors beside the network that training goes on from (a discriminator, its optimizer):
    /// live, saved with a checkpoint and copied into when one is restored. Names are used once.
    [[nodiscard]] virtual std::vector<NamedTensor> state() const { return {}; }
    /// Of the last step. They are said and kept with each checkpoint.
    [[nodiscard]] virtual Figures figures() const { return {}; }

    /// What the network reads before each pass; may be changed between passes. None: it has no
    /// choice.
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
