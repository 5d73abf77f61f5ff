#include "worker/model/linear.hpp"

#include "worker/memory/saved_kind.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>

namespace osora::worker {

Linear::Linear(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t out,
               bool with_bias)
    : weight(parameters.add(name + ".weight", {out, in})),
      bias(with_bias ? parameters.add(name + ".bias", {out}) : at::Tensor()),
      adapter(parameters.add_linear(name, in, out)) {}

Linear::Linear(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t out,
               SharedSide const& shared) {
    bool const inputs = shared.side == SharedSide::Side::inputs;
    weight = parameters.add_slice(name + ".weight", {out, in}, inputs ? 1 : 0, shared.parts);
    if (shared.with_bias && inputs) bias = parameters.add(name + ".bias", {out});
    if (shared.with_bias && !inputs)
        bias = parameters.add_slice(name + ".bias", {out}, 0, shared.parts);
    adapter = parameters.add_linear(name, in, out, shared);
    is_partial = inputs && parameters.share().ranks > 1;
}

// The adapter is applied beside the weight, not merged into it: a weight W + scale B A computed in
// each forward would be another copy of all weights among the activations, and its gradient a
// product as large as that of training W.
at::Tensor Linear::operator()(at::Tensor const& rows) const {
    at::Tensor const base = bias.defined() && !is_partial ? at::addmm(bias, rows, weight.t())
                                                          : at::mm(rows, weight.t());
    if (!adapter->a.defined()) return base;
    return at::addmm(base, at::mm(rows, adapter->a.t()), adapter->b.t(), 1, adapter->scale);
}

at::Tensor Linear::outputs(at::Tensor const& rows, std::int64_t first, std::int64_t count,
                           at::Tensor const& part) const {
    at::Tensor const base = at::addmm(part, rows, weight.narrow(0, first, count).t());
    if (!adapter->a.defined()) return base;
    return at::addmm(base, at::mm(rows, adapter->a.t()), adapter->b.narrow(0, first, count).t(), 1,
                     adapter->scale);
}

at::Tensor Linear::over(at::Tensor const& x) const {
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return (*this)(x.reshape({-1, x.size(-1)})).view(shape);
}

at::Tensor Linear::summed(SharedTokens const& over, at::Tensor const& partial,
                          std::int64_t dim) const {
    if (!is_partial) return partial;
    at::Tensor const sum = summed_tokens(over, partial, dim);
    return bias.defined() ? at::add(sum, bias) : sum;
}

at::Tensor gelu_tanh(at::Tensor const& x) {
    return remade(at::gelu(x, "tanh"), {x},
                  [](auto const& from) { return at::gelu(from[0], "tanh"); });
}

Mlp::Mlp(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t hidden,
         std::int64_t out)
    : fc1(parameters, name + ".fc1", in, hidden), fc2(parameters, name + ".fc2", hidden, out) {}

Mlp Mlp::shared(Parameters& parameters, std::string const& name, std::int64_t in,
                std::int64_t hidden, std::int64_t out) {
    Linear first(parameters, name + ".fc1", in, hidden, by_outputs({hidden}));
    return {std::move(first), Linear(parameters, name + ".fc2", hidden, out, by_inputs({hidden}))};
}

at::Tensor Mlp::operator()(at::Tensor const& rows) const {
    return fc2(gelu_tanh(fc1(rows)));
}

}  // namespace osora::worker
