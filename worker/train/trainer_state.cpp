// What of a trainer goes into a checkpoint, and how it comes back.
#include "worker/model/weights/merge_adapter.hpp"
#include "worker/train/trainer.hpp"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>
#include <string>

namespace osora::worker {
namespace {

/// Copies `from` (by name) into what `into` has of it: straight from the mapped file. Calls
/// `on_tensor` after each.
Result<void> copy_named(std::vector<NamedTensor> const& from, std::vector<TensorParts> into,
                        std::function<void()> const& on_tensor) {
    at::NoGradGuard const no_grad;
    std::map<std::string, at::Tensor> by_name;
    for (NamedTensor const& each : from) by_name.emplace(each.name, each.tensor);
    for (TensorParts& each : into) {
        auto const found = by_name.find(each.name);
        if (found == by_name.end()) {
            return Error{Errc::corrupt, fmt::format("checkpoint lacks {}", each.name)};
        }
        if (found->second.sizes() != at::IntArrayRef(each.shape)) {
            return Error{Errc::corrupt, fmt::format("checkpoint: {} has another shape", each.name)};
        }
        at::Tensor const items = found->second.reshape(-1);
        for (auto& part : each.parts) part.take(items);
        if (on_tensor) on_tensor();
    }
    return {};
}

/// What was frozen has no moments to go on from.
Result<void> check_frozen(std::vector<NamedTensor> const& kept,
                          std::vector<TensorParts> const& live) {
    if (kept.empty()) return {};
    std::set<std::string> trained;
    for (NamedTensor const& each : kept) trained.insert(each.name);
    for (TensorParts const& each : live) {
        if (trained.contains(each.name)) continue;
        return Error{
            Errc::invalid_input,
            fmt::format("optim.freeze: {} was not trained before the checkpoint and has no "
                        "optimizer state; freeze it again, or submit a run that starts "
                        "over",
                        each.name)};
    }
    return {};
}

/// The layers that adapters of these names belong to.
template <class Tensor>
std::set<std::string> adapted_layers(std::vector<Tensor> const& adapter) {
    std::set<std::string> layers;
    for (Tensor const& each : adapter) {
        std::string const name = plain_name(each.name);
        layers.insert(name.substr(0, name.rfind(".lora_")));
    }
    return layers;
}

/// Adapters that this run lacks would be lost, and others have no state to go on from.
Result<void> check_targets(std::vector<NamedTensor> const& kept,
                           std::vector<TensorParts> const& live) {
    auto const theirs = adapted_layers(kept), ours = adapted_layers(live);
    auto const differs = [](std::string const& what) {
        return Error{Errc::invalid_input, "optim.lora_targets: " + what +
                                              "; set the targets as they were, or submit a run "
                                              "that starts over"};
    };
    for (std::string const& each : theirs)
        if (!ours.contains(each))
            return differs("the adapter of " + each + " would be lost, as this run has none there");
    for (std::string const& each : ours)
        if (!theirs.contains(each)) return differs("the checkpoint has no adapter of " + each);
    return {};
}

}  // namespace

std::vector<TensorParts> Trainer::trained(std::vector<at::Tensor> const& of_pieces,
                                          bool mine) const {
    std::vector<TensorParts> list;
    if (of_pieces.empty()) return list;
    auto const type = of_pieces.front().scalar_type();
    std::vector<TensorSlice const*> slices;
    for (NamedTensor const& each : parameters().all()) {
        if (each.kind != TensorKind::trainable) continue;
        list.emplace_back(each.name, type, parameters().whole_sizes(each).vec());
        slices.push_back(parameters().slice_of(each));
    }
    auto const& pieces = ranks_->pieces();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        auto const& [parameter, first, values, is_mine] = pieces[i];
        if (mine && !is_mine) continue;
        TensorParts::Part part{first, of_pieces[i], {}};
        if (auto const* slice = slices[parameter]) part.runs = slice->runs(first, values.numel());
        list[parameter].parts.push_back(std::move(part));
    }
    return list;
}

CheckpointParts Trainer::tensors(bool common) const {
    return live(common, true);
}

TensorParts Trainer::kept(NamedTensor const& own, bool common, bool mine) const {
    TensorParts parts(own.name, own.tensor.scalar_type(), parameters().whole_sizes(own).vec());
    Place const place = parameters().place_of(own);
    auto const* const slice = parameters().slice_of(own);
    bool const brings = slice != nullptr             ? leads_slices_
                        : place == Place::this_stage ? leads_stage_
                                                     : common;
    if (place == Place::other_stage || (mine && !brings)) return parts;
    TensorParts::Part part{0, parameters().home_of(own), {}};
    if (slice != nullptr) part.runs = slice->runs(0, own.tensor.numel());
    parts.parts.push_back(std::move(part));
    return parts;
}

CheckpointParts Trainer::live(bool common, bool mine) const {
    CheckpointParts parts;
    auto weights = trained(values_of(ranks_->pieces()), mine);
    if (parameters().has_adapters()) {
        for (TensorParts& each : weights) each.name = peft_name(each.name);
        parts.adapter = std::move(weights);
    } else {
        std::size_t next = 0;
        for (NamedTensor const& each : parameters().all()) {
            bool const is_trained = each.kind == TensorKind::trainable;
            parts.model.push_back(is_trained ? std::move(weights[next++])
                                             : kept(each, common, mine));
        }
    }
    if (optimizer_.has_masters()) parts.master = trained(optimizer_.values(), mine);
    parts.ema = trained(ema_.values(), mine);
    parts.exp_avg = trained(optimizer_.exp_avg(), mine);
    parts.exp_avg_sq = trained(optimizer_.exp_avg_sq(), mine);
    for (NamedTensor const& each : objective_->state()) {
        parts.objective.emplace_back(each.name, each.tensor);
        if (!common) parts.objective.back().parts.clear();
    }
    return parts;
}

void Trainer::describe(CheckpointState& state) const {
    state.optimizer_steps = optimizer_.steps();
    state.trainable = parameters().trainable_count();
    state.grad_norms = grad_norms_;
    state.lora_rank = optim_.lora_rank;
    state.lora_alpha = optim_.lora_alpha.value_or(optim_.lora_rank);
    state.loss_scale = loss_scale_.value_or(LossScale{});
    state.figures = objective_->figures();
}

Result<void> Trainer::restore(LoadedCheckpoint const& checkpoint,
                              std::function<void()> const& on_tensor) {
    double const alpha = optim_.lora_alpha.value_or(optim_.lora_rank);
    double const before = checkpoint.state.lora_alpha;  // 0: an older one, which does not say it
    if (parameters().has_adapters() && before > 0 && before != alpha) {
        return Error{Errc::invalid_input,
                     fmt::format("optim.lora_alpha is {0}, this run has {1}: its adapters would "
                                 "count {2:.4g} times as much as they were trained to; set "
                                 "optim.lora_alpha = {0}, or submit a run that starts over",
                                 before, alpha, alpha / before)};
    }
    auto const live = held_parts();
    auto const& kept = checkpoint.tensors;
    OSORA_TRY_VOID(check_targets(kept.adapter, live.adapter));
    OSORA_TRY_VOID(check_frozen(kept.exp_avg, live.exp_avg));
    OSORA_TRY_VOID(copy_named(kept.model, live.model, on_tensor));
    OSORA_TRY_VOID(copy_named(kept.adapter, live.adapter, on_tensor));
    if (frozen_) frozen_->forget_copies();
    // A checkpoint in fp32 has no masters: its weights are. Without an average one begins here.
    auto const& weights = kept.adapter.empty() ? kept.model : kept.adapter;
    std::vector<NamedTensor> values = kept.master.empty() ? weights : kept.master;
    for (NamedTensor& each : values) each.name = plain_name(each.name);
    OSORA_TRY_VOID(copy_named(values, trained(optimizer_.values(), false), on_tensor));
    optimizer_.copy_back();
    OSORA_TRY_VOID(copy_named(kept.ema.empty() ? values : kept.ema, live.ema, on_tensor));
    OSORA_TRY_VOID(copy_named(kept.exp_avg, live.exp_avg, on_tensor));
    OSORA_TRY_VOID(copy_named(kept.exp_avg_sq, live.exp_avg_sq, on_tensor));
    OSORA_TRY_VOID(copy_named(kept.objective, live.objective, on_tensor));
    ranks_->publish();
    optimizer_.set_steps(checkpoint.state.optimizer_steps);
    grad_norms_ = checkpoint.state.grad_norms;
    if (loss_scale_) loss_scale_ = checkpoint.state.loss_scale;
    return {};
}

}  // namespace osora::worker
