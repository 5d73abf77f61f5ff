#include "worker/model/linear.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/gelu.h>

namespace osora::worker {

Linear::Linear(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t out)
    : weight(parameters.add(name + ".weight", {out, in})),
      bias(parameters.add(name + ".bias", {out})) {}

at::Tensor Linear::operator()(at::Tensor const& rows) const {
    return at::addmm(bias, rows, weight.t());
}

Mlp::Mlp(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t hidden,
         std::int64_t out)
    : fc1(parameters, name + ".fc1", in, hidden), fc2(parameters, name + ".fc2", hidden, out) {}

at::Tensor Mlp::operator()(at::Tensor const& rows) const {
    return fc2(at::gelu(fc1(rows), "tanh"));
}

}  // namespace osora::worker
