#include "worker/model/pipeline_stage.hpp"

#include "base/check.hpp"
#include "plan/layout/stage_cut.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>
#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace osora::worker {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Autograd functions carry no pointers but as numbers.
c10::IValue handle(StageRanks& stages) {
    return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&stages));
}
StageRanks& stages_of(AutogradContext const& context) {
    auto const value = static_cast<std::intptr_t>(context.saved_data.at("stages").toInt());
    return *reinterpret_cast<StageRanks*>(value);
}

struct Received {
    StageLink::Sizes x;
    std::int64_t conditions = 0;  // number of values; 0: they do not come with x
};

struct Receive : torch::autograd::Function<Receive> {
    /// `anchor` requires a gradient, so that backward comes here.
    static variable_list forward(AutogradContext* context, at::Tensor const& anchor,
                                 StageRanks* stages, Received const* of) {
        context->saved_data["stages"] = handle(*stages);
        auto const options = anchor.options().requires_grad(false);
        variable_list into{at::empty(of->x, options)};
        if (of->conditions > 0) into.push_back(at::empty({of->conditions}, options));
        for (at::Tensor const& each : into) stages->receive_forward(each);
        return into;
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        for (at::Tensor const& each : gradients)
            stages_of(*context).send_backward(each.contiguous());
        return {{}, {}, {}};
    }
};

/// What happens to the conditions that a run has.
struct Sending {
    bool to_next = false;  // with x
    at::Tensor kept = {};  // the leaf that later runs of this stage read; undefined: there are none
};

struct Send : torch::autograd::Function<Send> {
    /// `conditions`: empty if the run has got them from another one of this stage.
    static at::Tensor forward(AutogradContext* context, at::Tensor const& x,
                              at::Tensor const& conditions, StageRanks* stages,
                              Sending const* how) {
        context->saved_data["stages"] = handle(*stages);
        context->saved_data["sizes"] = x.sizes().vec();
        context->saved_data["count"] = how->to_next ? conditions.numel() : std::int64_t{0};
        context->saved_data["kept"] = how->kept;
        context->saved_data["like"] = at::empty({0}, x.options());
        stages->send_forward(x.contiguous());
        if (how->to_next) stages->send_forward(conditions);
        return at::zeros({}, x.options().dtype(at::kFloat));
    }
    static variable_list backward(AutogradContext* context, variable_list) {
        auto& saved = context->saved_data;
        auto const options = saved["like"].toTensor().options();
        StageRanks& stages = stages_of(*context);
        at::Tensor const gradient = at::empty(saved["sizes"].toIntVector(), options);
        stages.receive_backward(gradient);
        at::Tensor of_conditions;
        if (std::int64_t const count = saved["count"].toInt(); count > 0) {
            of_conditions = at::empty({count}, options);
            stages.receive_backward(of_conditions);
        }
        at::Tensor const kept = saved["kept"].toTensor();
        if (kept.defined() && kept.grad().defined())
            of_conditions = of_conditions.defined() ? of_conditions.add_(kept.grad()) : kept.grad();
        return {gradient, of_conditions, {}, {}};
    }
};

std::vector<std::int64_t> counts_of(std::vector<StageLink::Sizes> const& sizes) {
    std::vector<std::int64_t> counts;
    for (auto const& each : sizes) counts.push_back(c10::multiply_integers(each));
    return counts;
}

at::Tensor packed(std::vector<at::Tensor> const& parts) {
    std::vector<at::Tensor> flat;
    for (at::Tensor const& each : parts) flat.push_back(each.reshape(-1));
    return at::cat(flat);
}

std::vector<at::Tensor> unpacked(at::Tensor const& values,
                                 std::vector<StageLink::Sizes> const& sizes) {
    auto parts = values.split_with_sizes(counts_of(sizes));
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = parts[i].view(sizes[i]);
    return parts;
}

}  // namespace

StageCut::StageCut(StageRanks const* stages, std::int64_t blocks, std::vector<std::int64_t> ends)
    : stages_(stages), blocks_(blocks), ends_(std::move(ends)) {
    if (stages == nullptr) return;
    int const runs = stages->size() * stages->virtual_stages();
    if (ends_.empty()) {
        plan::ModelWork equal;
        equal.blocks.assign(static_cast<std::size_t>(blocks), 1.0);
        ends_ = plan::run_ends(equal, runs);
    }
    OSORA_CHECK_EQ(static_cast<int>(ends_.size()), runs);
    OSORA_CHECK_EQ(ends_.back(), blocks);
}

StageSpan StageCut::span_of(int virtual_stage) const {
    auto const run = static_cast<std::size_t>(virtual_stage * stages_->size() + stages_->rank());
    return {run == 0 ? 0 : ends_[run - 1], ends_[run], run == 0, run + 1 == ends_.size()};
}

StageSpan StageCut::span() const {
    return stages_ == nullptr ? StageSpan{0, blocks_} : span_of(stages_->virtual_stage());
}

Place StageCut::place_of(std::int64_t block) const {
    if (stages_ == nullptr) return Place::every_rank;
    for (int i = 0; i < stages_->virtual_stages(); ++i) {
        StageSpan const span = span_of(i);
        if (span.begin <= block && block < span.end) return Place::this_stage;
    }
    return Place::other_stage;
}

Place StageCut::place_of_first() const {
    if (stages_ == nullptr) return Place::every_rank;
    return stages_->rank() == 0 ? Place::this_stage : Place::other_stage;
}

Place StageCut::place_of_last() const {
    if (stages_ == nullptr) return Place::every_rank;
    return stages_->rank() + 1 == stages_->size() ? Place::this_stage : Place::other_stage;
}

StageLink::StageLink(StageRanks* stages)
    : stages_(stages),
      kept_(stages == nullptr ? 0 : static_cast<std::size_t>(stages->virtual_stages())) {}

StageInput StageLink::receive(Sizes const& x, std::vector<Sizes> const& conditions,
                              at::TensorOptions const& options) {
    auto const run = static_cast<std::size_t>(stages_->virtual_stage());
    auto const counts = counts_of(conditions);
    Received const of{x, run > 0 ? 0 : c10::sum_integers(counts)};
    at::Tensor const anchor = at::zeros({}, options).set_requires_grad(true);
    auto const received = Receive::apply(anchor, stages_, &of);
    if (run == 0) return {received[0], unpacked(received[1], conditions)};
    at::Tensor const kept = kept_[run].front();
    kept_[run].pop_front();
    if (run + 1 < kept_.size()) kept_[run + 1].push_back(kept);
    return {received[0], unpacked(kept, conditions)};
}

at::Tensor StageLink::send(at::Tensor const& x, std::vector<at::Tensor> const& conditions) {
    Sending how;
    at::Tensor all = at::empty({0}, x.options().requires_grad(false));
    if (stages_->virtual_stage() == 0) {
        how.to_next = stages_->rank() + 1 < stages_->size();
        all = packed(conditions);
        if (kept_.size() > 1) {
            how.kept = all.detach().requires_grad_(all.requires_grad());
            kept_[1].push_back(how.kept);
        }
    }
    // If all weights of the run are frozen, backward still has to come to Send, which receives what
    // the next stage sends.
    if (!x.requires_grad() && !all.requires_grad()) all.requires_grad_(true);
    return Send::apply(x, all, stages_, &how);
}

}  // namespace osora::worker
