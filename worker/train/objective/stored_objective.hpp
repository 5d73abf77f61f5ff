// An objective whose activations are kept in an activation store until backward. Wraps another; the
// trainer sees no difference. The effect of a lossy store on gradients is checked in the first
// micro-batch, and again every `check_every` steps.
#pragma once

#include "plan/activation_choice.hpp"
#include "worker/memory/activation_store.hpp"
#include "worker/train/objective/objective.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace osora::worker {

/// Compares the gradients with a store to those without.
struct StoreEffect {
    double cosine = 1;
    double norm_ratio = 1;
};

class StoredObjective final : public Objective {
public:
    struct Settings {
        StoreOptions store;
        bool lossy = false;
        int check_every = 1000;
        /// Of gradients that are checked, spread evenly.
        std::int64_t check_bytes = plan::kCheckedGradientBytes;
    };
    /// `recompute` is read by the network of `inner`: the exact gradients of a check are computed
    /// with everything recomputed, which gives the same and takes little memory.
    StoredObjective(std::unique_ptr<Objective> inner, Settings const& settings,
                    std::shared_ptr<plan::RecomputeChoice> recompute)
        : inner_(std::move(inner)), settings_(settings), store_(settings.store) {
        set_recompute(std::move(recompute));
    }

    [[nodiscard]] Parameters& parameters() override { return inner_->parameters(); }
    void use(plan::OptimSection const& optim) override { inner_->use(optim); }
    void begin_step(int step) override;
    [[nodiscard]] bool awaits_samples() const override { return inner_->awaits_samples(); }
    void see(MicroBatch const& first) override { inner_->see(first); }
    void start() override { inner_->start(); }
    [[nodiscard]] at::Tensor loss(MicroBatch const& batch) override;
    [[nodiscard]] at::Tensor held_out_loss(MicroBatch const& batch) override {
        return inner_->held_out_loss(batch);
    }
    void after_update() override { inner_->after_update(); }
    [[nodiscard]] std::vector<NamedTensor> state() const override { return inner_->state(); }
    /// store_gradient_cosine and _norm (ratio), store_error_KIND (worst of a tensor),
    /// store_fallbacks and store_bytes_ratio beside those of `inner`.
    [[nodiscard]] Figures figures() const override;

    [[nodiscard]] std::optional<StoreEffect> const& effect() const { return effect_; }
    [[nodiscard]] ActivationStore const& store() const { return store_; }

private:
    [[nodiscard]] at::Tensor stored_loss(MicroBatch const& batch);
    [[nodiscard]] StoreEffect measure(MicroBatch const& batch);

    std::unique_ptr<Objective> inner_;
    Settings settings_;
    ActivationStore store_;
    int step_ = 0;
    std::uint64_t micro_batch_ = 0;  // of the step
    int checked_step_ = -1;
    std::optional<StoreEffect> effect_;
};

}  // namespace osora::worker
