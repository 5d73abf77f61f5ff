#include "worker/model/pipeline_stage.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

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

struct Receive : torch::autograd::Function<Receive> {
    /// `anchor` requires a gradient, so that backward comes here.
    static at::Tensor forward(AutogradContext* context, at::Tensor const& anchor,
                              StageRanks* stages, at::Tensor const& into) {
        context->saved_data["stages"] = handle(*stages);
        stages->receive_forward(into);
        return at::add(into, anchor);
    }
    static variable_list backward(AutogradContext* context, variable_list gradients) {
        stages_of(*context).send_backward(gradients[0].contiguous());
        return {{}, {}, {}};
    }
};

struct Send : torch::autograd::Function<Send> {
    static at::Tensor forward(AutogradContext* context, at::Tensor const& x, StageRanks* stages) {
        context->saved_data["stages"] = handle(*stages);
        context->saved_data["sizes"] = x.sizes().vec();
        context->saved_data["like"] = at::empty({0}, x.options());
        stages->send_forward(x.contiguous());
        return at::zeros({}, x.options().dtype(at::kFloat));
    }
    static variable_list backward(AutogradContext* context, variable_list) {
        at::Tensor const gradient = at::empty(context->saved_data["sizes"].toIntVector(),
                                              context->saved_data["like"].toTensor().options());
        stages_of(*context).receive_backward(gradient);
        return {gradient, {}};
    }
};

}  // namespace

StageSpan StageCut::span_of(int virtual_stage) const {
    int const runs = stages_->size() * stages_->virtual_stages();
    int const run = virtual_stage * stages_->size() + stages_->rank();
    auto const span = token_span(blocks_, runs, run);
    return {span.begin, span.begin + span.count, run == 0, run + 1 == runs};
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

at::Tensor from_previous(StageRanks& stages, at::IntArrayRef sizes,
                         at::TensorOptions const& options) {
    at::Tensor const into = at::empty(sizes, options);
    at::Tensor const anchor = at::zeros({}, options).set_requires_grad(true);
    return Receive::apply(anchor, &stages, into);
}

at::Tensor to_next(StageRanks& stages, at::Tensor const& x) {
    return Send::apply(x, &stages);
}

}  // namespace osora::worker
