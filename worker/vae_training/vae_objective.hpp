// Trains the video autoencoder as Open-Sora v1.2 does (scripts/train_vae.py). The 2-D part
// processes micro_batch_size frames at a time and the temporal one micro_frame_size; divided parts
// are recomputed in backward (recompute.hpp), with the same gradients.
#pragma once

#include "plan/config/sections/vae_loss_section.hpp"
#include "worker/parallel/process_group.hpp"
#include "worker/train/objective/objective.hpp"
#include "worker/vae/lpips.hpp"
#include "worker/vae/vae_loss.hpp"
#include "worker/vae/vae_pipeline.hpp"
#include "worker/vae_training/adversary.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace osora::worker {

/// LPIPS with separate tensors.
struct Perceptual {
    explicit Perceptual(at::TensorOptions options) : parameters(options), distance(parameters) {}
    Parameters parameters;
    Lpips distance;
};

class VaeObjective final : public Objective {
public:
    struct Parts {
        VaePipeline vae;
        std::unique_ptr<Perceptual> perceptual;  // null: no perceptual term
        std::unique_ptr<Adversary> adversary;    // null: none
        std::optional<Group> group;              // the ranks of the run
    };
    /// `seed`: of the latents' noise and of which frames a step sees.
    VaeObjective(Parts parts, plan::VaeLossSection const& loss, std::uint64_t seed);

    [[nodiscard]] Parameters& parameters() override { return parts_.vae.parameters(); }
    void use(plan::OptimSection const& optim) override;
    void begin_step(int step) override;
    [[nodiscard]] at::Tensor loss(MicroBatch const& batch) override;
    /// Of all frames, in every step.
    [[nodiscard]] at::Tensor held_out_loss(MicroBatch const& batch) override;
    void after_update() override;
    [[nodiscard]] std::vector<NamedTensor> state() const override;
    /// psnr_db of this rank's last step, where frames are reconstructed.
    [[nodiscard]] Figures figures() const override;

private:
    struct Latents;
    [[nodiscard]] at::Tensor seen(at::Tensor const& x) const;
    [[nodiscard]] at::Tensor loss_of(at::Tensor const& frames, MicroBatch const& batch);
    [[nodiscard]] at::Tensor encode_frames(at::Tensor const& x, MicroBatch const& batch) const;
    [[nodiscard]] Latents through_time(at::Tensor const& x_z, MicroBatch const& batch) const;
    [[nodiscard]] at::Tensor decode_frames(at::Tensor const& x_z) const;
    [[nodiscard]] at::Tensor perceptual(at::Tensor const& x, at::Tensor const& x_rec) const;
    [[nodiscard]] at::Tensor real_loss(at::Tensor const& x, Latents const& latents);

    Parts parts_;
    plan::VaeLossSection section_;
    VaeLossConfig config_;
    std::uint64_t seed_;
    int step_ = 0;
    std::vector<at::Tensor> encoder_, decoder_, temporal_;  // trainable, by part
    at::Tensor squared_error_;  // of the current step, times clips: 0-d, fp64, on the device
    double clips_ = 0;          // of these
    double psnr_db_ = 0;
};

}  // namespace osora::worker
