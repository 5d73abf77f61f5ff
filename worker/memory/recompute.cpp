// A node of the autograd graph whose backward runs its part again with a separate graph.
#include "worker/memory/recompute.hpp"

#include "worker/memory/forward_state.hpp"
#include "worker/memory/saved_hooks.hpp"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace osora::worker {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

c10::Device device_of(variable_list const& inputs, variable_list const& parameters) {
    for (variable_list const* each : {&inputs, &parameters}) {
        if (!each->empty()) return each->front().device();
    }
    return at::kCPU;
}

/// Inputs are SavedVariables: they are checked for changes in place, and an activation store
/// handles them like what LibTorch's own nodes save.
class RecomputedPart : public torch::autograd::Node {
public:
    RecomputedPart(Part part, variable_list const& inputs, variable_list parameters)
        : part_(std::move(part)),
          parameters_(std::move(parameters)),
          autocast_(AutocastState::here(device_of(inputs, parameters_))),
          random_(RandomState::here(device_of(inputs, parameters_))) {}

    /// After the first run of the part, whose peak they would add to.
    void save(variable_list const& inputs) {
        for (at::Tensor const& input : inputs) inputs_.emplace_back(input, /*is_output=*/false);
    }
    variable_list run(variable_list const& inputs) const { return part_(inputs); }

    variable_list apply(variable_list&& gradients) override;
    [[nodiscard]] std::string name() const override { return "RecomputedPart"; }
    void release_variables() override { inputs_.clear(); }

private:
    variable_list run_again(variable_list const& inputs) const {
        AutocastState::Scope const cast(autocast_);
        RandomState::Scope const same_draws(random_);
        PlainSaving const plain;  // its graph is gone in a moment
        return part_(inputs);
    }

    Part part_;
    std::vector<SavedVariable> inputs_;
    variable_list parameters_;
    AutocastState autocast_;
    RandomState random_;
};

variable_list RecomputedPart::apply(variable_list&& gradients) {
    at::AutoGradMode const with_graph(true);
    variable_list inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        at::Tensor const input = inputs_[i].unpack().detach();
        inputs.push_back(task_should_compute_output(i) ? input.set_requires_grad(true) : input);
    }
    variable_list const outputs = run_again(inputs);
    variable_list roots, of_roots, wanted;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!gradients[i].defined() || !outputs[i].requires_grad()) continue;
        roots.push_back(outputs[i]);
        of_roots.push_back(gradients[i]);
    }
    std::vector<std::size_t> places;  // of `wanted` among inputs, then parameters
    for (std::size_t i = 0; i < inputs.size() + parameters_.size(); ++i) {
        if (!task_should_compute_output(i)) continue;
        wanted.push_back(i < inputs.size() ? inputs[i] : parameters_[i - inputs.size()]);
        places.push_back(i);
    }
    variable_list all(inputs.size() + parameters_.size());
    if (roots.empty() || wanted.empty()) return all;
    auto const found = torch::autograd::grad(roots, wanted, of_roots, false, false, true);
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]] = found[i];
    return all;
}

bool any_wants_gradient(variable_list const& tensors) {
    return std::ranges::any_of(tensors,
                               [](at::Tensor const& each) { return each.requires_grad(); });
}

}  // namespace

std::vector<at::Tensor> recompute(Part part, std::vector<at::Tensor> const& inputs,
                                  std::vector<at::Tensor> const& parameters) {
    bool const wanted = any_wants_gradient(inputs) || any_wants_gradient(parameters);
    if (!c10::GradMode::is_enabled() || !wanted) return part(inputs);
    auto const node = std::make_shared<RecomputedPart>(std::move(part), inputs, parameters);
    variable_list outputs;
    {
        at::NoGradGuard const no_graph;
        AutocastState::Scope const without_cache(
            AutocastState::here(device_of(inputs, parameters)));
        outputs = node->run(inputs);
    }
    for (at::Tensor& output : outputs) {
        // A part may hand an input through, which keeps the history that it has.
        bool const is_input = std::ranges::any_of(
            inputs, [&](at::Tensor const& input) { return input.is_same(output); });
        if (is_input) output = output.detach();
    }
    node->save(inputs);
    variable_list edges_from = inputs;
    edges_from.insert(edges_from.end(), parameters.begin(), parameters.end());
    node->set_next_edges(torch::autograd::collect_next_edges(at::TensorList(edges_from)));
    torch::autograd::set_history(outputs, node);
    return outputs;
}

at::Tensor over_rows(at::Tensor const& rows, std::int64_t count,
                     std::vector<at::Tensor> const& parameters, RowsFunction const& run) {
    std::int64_t const total = rows.size(0);
    if (count <= 0 || count >= total) return run(rows, 0);
    std::vector<at::Tensor> results;
    std::int64_t first = 0;
    for (at::Tensor const& piece : rows.split(count)) {
        auto const part = [run, first](std::vector<at::Tensor> const& inputs) {
            return std::vector{run(inputs[0], first)};
        };
        results.push_back(recompute(part, {piece}, parameters)[0]);
        first += piece.size(0);
    }
    return at::cat(results);
}

}  // namespace osora::worker
