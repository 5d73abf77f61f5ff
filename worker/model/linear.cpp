#include "worker/model/linear.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mm.h>

namespace osora::worker {

Linear::Linear(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t out,
               bool with_bias)
    : weight(parameters.add(name + ".weight", {out, in})),
      bias(with_bias ? parameters.add(name + ".bias", {out}) : at::Tensor()) {}

at::Tensor Linear::operator()(at::Tensor const& rows) const {
    return bias.defined() ? at::addmm(bias, rows, weight.t()) : at::mm(rows, weight.t());
}

at::Tensor Linear::over(at::Tensor const& x) const {
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return (*this)(x.reshape({-1, x.size(-1)})).view(shape);
}

Mlp::Mlp(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t hidden,
         std::int64_t out)
    : fc1(parameters, name + ".fc1", in, hidden), fc2(parameters, name + ".fc2", hidden, out) {}

at::Tensor Mlp::operator()(at::Tensor const& rows) const {
    return fc2(at::gelu(fc1(rows), "tanh"));
}

}  // namespace osora::worker
