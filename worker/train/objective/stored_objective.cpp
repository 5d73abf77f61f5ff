#include "worker/train/objective/stored_objective.hpp"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace osora::worker {
namespace {

/// Gradients with no other effect: neither on .grad nor on the hooks of a reducer.
std::vector<at::Tensor> gradients_aside(at::Tensor const& loss,
                                        std::vector<at::Tensor> const& parameters) {
    return torch::autograd::grad({loss}, parameters, {}, /*retain_graph=*/false,
                                 /*create_graph=*/false, /*allow_unused=*/true);
}

/// All parameters if they are small, else a selection from everywhere: networks that ranks share,
/// because a rank cannot hold them, have no room for all gradients either.
std::vector<at::Tensor> part_of(std::vector<at::Tensor> const& trainable, std::int64_t limit) {
    double total = 0, seen = 0, taken = 0;
    for (at::Tensor const& each : trainable) total += static_cast<double>(each.nbytes());
    double const share = std::min(1.0, static_cast<double>(limit) / total);
    std::vector<at::Tensor> part;
    for (at::Tensor const& each : trainable) {
        auto const bytes = static_cast<double>(each.nbytes());
        seen += bytes;
        if (taken + bytes > share * seen) continue;
        taken += bytes;
        part.push_back(each);
    }
    if (part.empty()) part.push_back(trainable.front());
    return part;
}

/// While it lives; a pass may run out of memory.
class RecomputeAll {
public:
    explicit RecomputeAll(plan::RecomputeChoice& choice)
        : choice_(choice), before_(std::exchange(choice, plan::RecomputeChoice::full())) {}
    ~RecomputeAll() { choice_ = before_; }
    RecomputeAll(RecomputeAll const&) = delete;
    RecomputeAll& operator=(RecomputeAll const&) = delete;

private:
    plan::RecomputeChoice& choice_;
    plan::RecomputeChoice before_;
};

struct Products {
    double both = 0, exact = 0, stored = 0;
};

Products products_of(std::vector<at::Tensor> const& exact, std::vector<at::Tensor> const& stored) {
    Products sum;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        if (!exact[i].defined() || !stored[i].defined()) continue;
        at::Tensor const a = exact[i].to(at::kDouble), b = stored[i].to(at::kDouble);
        sum.both += a.mul(b).sum().item<double>();
        sum.exact += a.square().sum().item<double>();
        sum.stored += b.square().sum().item<double>();
    }
    return sum;
}

}  // namespace

void StoredObjective::begin_step(int step) {
    step_ = step;
    micro_batch_ = 0;
    inner_->begin_step(step);
}

at::Tensor StoredObjective::stored_loss(MicroBatch const& batch) {
    std::vector<at::Tensor> weights;
    for (NamedTensor const& each : parameters().all())
        if (parameters().is_here(each)) weights.push_back(each.tensor);
    auto const pass = (static_cast<std::uint64_t>(step_) << 20U) + micro_batch_;
    ActivationStore::Scope const scope(store_, weights, pass);
    return inner_->loss(batch);
}

StoreEffect StoredObjective::measure(MicroBatch const& batch) {
    auto const checked = part_of(parameters().trainable(), settings_.check_bytes);
    auto const exact = [&] {
        RecomputeAll const all(*recompute_choice());
        return gradients_aside(inner_->loss(batch), checked);
    }();
    auto const stored = gradients_aside(stored_loss(batch), checked);
    Products const sum = products_of(exact, stored);
    if (!(sum.exact > 0) || !(sum.stored > 0)) return {};
    return {.cosine = sum.both / std::sqrt(sum.exact * sum.stored),
            .norm_ratio = std::sqrt(sum.stored / sum.exact)};
}

at::Tensor StoredObjective::loss(MicroBatch const& batch) {
    bool const due = checked_step_ < 0 || step_ >= checked_step_ + settings_.check_every;
    if (settings_.lossy && due) {
        effect_ = measure(batch);
        checked_step_ = step_;  // not if that ran out of memory: the step is tried again
    }
    at::Tensor loss = stored_loss(batch);
    ++micro_batch_;
    return loss;
}

Figures StoredObjective::figures() const {
    Figures said = inner_->figures();
    SavedCounts const total = store_.total();
    if (effect_) {
        said["store_gradient_cosine"] = effect_->cosine;
        said["store_gradient_norm"] = effect_->norm_ratio;
        for (auto const& [kind, name] : {std::pair(SavedKind::attention, "store_error_attention"),
                                         std::pair(SavedKind::scores, "store_error_scores"),
                                         std::pair(SavedKind::mlp, "store_error_mlp"),
                                         std::pair(SavedKind::other, "store_error_other")}) {
            said[name] = store_.counts()[static_cast<std::size_t>(kind)].worst_error;
        }
        said["store_fallbacks"] = static_cast<double>(total.fallbacks);
    }
    if (total.bytes > 0) {
        said["store_bytes_ratio"] =
            static_cast<double>(total.packed_bytes) / static_cast<double>(total.bytes);
    }
    return said;
}

}  // namespace osora::worker
