// A node of the autograd graph whose backward runs its part again with a graph of its own.
#include "worker/vae_training/recompute.hpp"

#include <ATen/ops/cat.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace osora::worker {
namespace {

using torch::autograd::variable_list;

class RecomputedPart : public torch::autograd::Node {
public:
    RecomputedPart(Part part, variable_list inputs, variable_list parameters)
        : part_(std::move(part)), inputs_(std::move(inputs)), parameters_(std::move(parameters)) {}

    variable_list apply(variable_list&& gradients) override;
    [[nodiscard]] std::string name() const override { return "RecomputedPart"; }
    void release_variables() override { inputs_.clear(); }

private:
    Part part_;
    variable_list inputs_, parameters_;
};

variable_list RecomputedPart::apply(variable_list&& gradients) {
    at::AutoGradMode const with_graph(true);
    variable_list inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        at::Tensor const input = inputs_[i].detach();
        inputs.push_back(task_should_compute_output(i) ? input.set_requires_grad(true) : input);
    }
    variable_list const outputs = part_(inputs);
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
    variable_list outputs;
    {
        at::NoGradGuard const no_graph;
        outputs = part(inputs);
    }
    variable_list edges_from = inputs;
    edges_from.insert(edges_from.end(), parameters.begin(), parameters.end());
    variable_list kept;
    for (at::Tensor const& input : inputs) kept.push_back(input.detach());
    auto const node =
        std::make_shared<RecomputedPart>(std::move(part), std::move(kept), parameters);
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
