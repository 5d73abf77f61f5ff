// One Linear: weight (out, in) and bias (out), applied to rows, with its adapter where it has one.
// Private to worker/model.
#pragma once

#include "worker/model/parameters.hpp"

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

namespace osora::worker {

struct Linear {
    Linear(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t out,
           bool with_bias = true);

    /// rows (n, in) -> (n, out): two dimensions take the one-call path (addmm) in ATen.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& rows) const;
    /// x (..., in) -> (..., out).
    [[nodiscard]] at::Tensor over(at::Tensor const& x) const;

    /// The outputs [first, first + count) alone, with `part` for their bias.
    [[nodiscard]] at::Tensor outputs(at::Tensor const& rows, std::int64_t first, std::int64_t count,
                                     at::Tensor const& part) const;

    at::Tensor weight;  // (out, in)
    at::Tensor bias;    // (out); undefined: none
    std::shared_ptr<Adapter const> adapter;
};

/// fc1, GELU (tanh form), fc2.
struct Mlp {
    Mlp(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t hidden,
        std::int64_t out);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& rows) const;

    Linear fc1, fc2;
};

}  // namespace osora::worker
