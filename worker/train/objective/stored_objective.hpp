// An objective whose activations wait for backward in an activation store. Wraps another; the
// trainer sees no difference. What a lossy store does to gradients is looked at in the first
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

/// Of the gradients with a store against those without.
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
        std::int64_t check_bytes = 64 << 20;  // of gradients that are looked at, spread evenly
    };
    /// `recompute` is what the network of `inner` reads: the exact gradients of a check are made
    /// with everything recomputed, which are the same and take little memory.
    StoredObjective(std::unique_ptr<Objective> inner, Settings const& settings,
                    std::shared_ptr<plan::RecomputeChoice> recompute)
        : inner_(std::move(inner)), settings_(settings), store_(settings.store) {
        set_recompute(std::move(recompute));
    }

    [[nodiscard]] Parameters& parameters() override { return inner_->parameters(); }
    void begin_step(int step) override;
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
