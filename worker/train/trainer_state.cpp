// What of a trainer goes into a checkpoint, and how it comes back.
#include "worker/model/merge_adapter.hpp"
#include "worker/train/trainer.hpp"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <map>

namespace osora::worker {
namespace {

/// `values` under the names of the tensors that are trained; none when nothing is kept.
std::vector<NamedTensor> named(Parameters const& parameters,
                               std::vector<at::Tensor> const& values) {
    std::vector<NamedTensor> list;
    if (values.empty()) return list;
    std::size_t next = 0;
    for (NamedTensor const& each : parameters.all()) {
        if (each.kind == TensorKind::trainable) list.push_back({each.name, values[next++]});
    }
    return list;
}

/// Copies `from` (by name) into the tensors of `into`: straight from the mapped file.
Result<void> copy_named(std::vector<NamedTensor> const& from, std::vector<NamedTensor> into) {
    at::NoGradGuard const no_grad;
    std::map<std::string, at::Tensor> by_name;
    for (NamedTensor const& each : from) by_name.emplace(each.name, each.tensor);
    for (NamedTensor& each : into) {
        auto const found = by_name.find(each.name);
        if (found == by_name.end()) {
            return Error{Errc::corrupt, fmt::format("checkpoint lacks {}", each.name)};
        }
        if (found->second.sizes() != each.tensor.sizes()) {
            return Error{Errc::corrupt, fmt::format("checkpoint: {} has another shape", each.name)};
        }
        each.tensor.copy_(found->second);
    }
    return {};
}

}  // namespace

CheckpointTensors Trainer::tensors() const {
    CheckpointTensors live;
    if (parameters().has_adapters()) {
        for (NamedTensor const& each : parameters().all()) {
            if (each.kind != TensorKind::trainable) continue;
            live.adapter.push_back({peft_name(each.name), each.tensor, each.kind});
        }
    } else {
        live.model = parameters().all();
    }
    if (optimizer_.has_masters()) live.master = named(parameters(), optimizer_.values());
    live.ema = named(parameters(), ema_.values());
    live.exp_avg = named(parameters(), optimizer_.exp_avg());
    live.exp_avg_sq = named(parameters(), optimizer_.exp_avg_sq());
    live.objective = objective_->state();
    return live;
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

Result<void> Trainer::restore(LoadedCheckpoint const& checkpoint) {
    auto const live = tensors();
    auto const& kept = checkpoint.tensors;
    OSORA_TRY_VOID(copy_named(kept.model, live.model));
    OSORA_TRY_VOID(copy_named(kept.adapter, live.adapter));
    // A checkpoint in fp32 has no masters: its weights are. Without an average one begins here.
    auto const& weights = kept.adapter.empty() ? kept.model : kept.adapter;
    std::vector<NamedTensor> values = kept.master.empty() ? weights : kept.master;
    for (NamedTensor& each : values) each.name = plain_name(each.name);
    OSORA_TRY_VOID(copy_named(values, named(parameters(), optimizer_.values())));
    optimizer_.copy_back();
    OSORA_TRY_VOID(copy_named(kept.ema.empty() ? values : kept.ema, live.ema));
    OSORA_TRY_VOID(copy_named(kept.exp_avg, live.exp_avg));
    OSORA_TRY_VOID(copy_named(kept.exp_avg_sq, live.exp_avg_sq));
    OSORA_TRY_VOID(copy_named(kept.objective, live.objective));
    optimizer_.set_steps(checkpoint.state.optimizer_steps);
    grad_norms_ = checkpoint.state.grad_norms;
    if (loss_scale_) loss_scale_ = checkpoint.state.loss_scale;
    return {};
}

}  // namespace osora::worker
