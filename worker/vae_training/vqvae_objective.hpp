// Trains the VQ-VAE as VideoGPT does (squared error over 0.06, commitment); statistics for its
// codebook and norms are summed over micro-batches and ranks: one update of each per step.
#pragma once

#include "worker/parallel/process_group.hpp"
#include "worker/train/objective/objective.hpp"
#include "worker/vae_training/vqvae.hpp"
#include "worker/vae_training/vqvae_layers.hpp"

#include <cstdint>
#include <optional>

namespace osora::worker {

struct VqvaeObjectiveOptions {
    std::uint64_t seed = 0;             // of the vectors that codes start from
    std::int64_t micro_frame_size = 0;  // longer clips are cut into clips of as many frames; 0: not
    std::optional<Group> group;         // the ranks of the run
};

class VqvaeObjective final : public Objective {
public:
    VqvaeObjective(Vqvae model, VqvaeObjectiveOptions options)
        : model_(std::move(model)), options_(std::move(options)) {}

    [[nodiscard]] Parameters& parameters() override { return model_.parameters(); }
    void begin_step(int step) override;
    /// For the vectors that codes start from: rank 0's.
    [[nodiscard]] bool awaits_samples() const override;
    void see(MicroBatch const& first) override;
    void start() override;
    [[nodiscard]] at::Tensor loss(MicroBatch const& batch) override;
    /// With the norms' running averages.
    [[nodiscard]] at::Tensor held_out_loss(MicroBatch const& batch) override;
    void after_update() override;
    /// perplexity, codes_used (a share) and psnr_db of the last step, of all ranks.
    [[nodiscard]] Figures figures() const override { return figures_; }

private:
    /// Statistics from the micro-batches of a step, summed.
    struct Sums {
        CodebookCounts counts;
        NormLog norms;
        at::Tensor squared_error, weight;  // (1): frames-weighted mean, and the weights
    };
    [[nodiscard]] at::Tensor piece_loss(at::Tensor const& x, double weight, bool counted);
    [[nodiscard]] std::int64_t piece_frames(std::int64_t all) const;
    /// `mean_square`: of the error, 0-d.
    void count(Quantized const& codes, NormLog const& log, at::Tensor const& mean_square,
               double weight);
    [[nodiscard]] at::Tensor restart_vectors();

    Vqvae model_;
    VqvaeObjectiveOptions options_;
    int step_ = 0;
    std::optional<Sums> sums_;  // none: nothing seen in this step
    at::Tensor first_vectors_;  // of the step's first piece; what codes restart from
    Figures figures_;
};

}  // namespace osora::worker
