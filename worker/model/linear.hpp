// One Linear: weight (out, in) and bias (out), applied to rows, with its adapter if it has one.
// Private to worker/model.
#pragma once

#include "worker/model/parameters.hpp"
#include "worker/model/token_exchange.hpp"

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace osora::worker {

[[nodiscard]] inline SharedSide by_outputs(std::vector<std::int64_t> parts, bool with_bias = true) {
    return {SharedSide::Side::outputs, std::move(parts), with_bias};
}
[[nodiscard]] inline SharedSide by_inputs(std::vector<std::int64_t> parts) {
    return {SharedSide::Side::inputs, std::move(parts), true};
}

struct Linear {
    Linear(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t out,
           bool with_bias = true);
    /// Of this rank's share (Parameters::share()).
    Linear(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t out,
           SharedSide const& shared);

    /// rows (n, in) -> (n, out): two dimensions take the one-call path (addmm) in ATen. With shared
    /// inputs: this rank's summand of the outputs, without the bias.
    [[nodiscard]] at::Tensor operator()(at::Tensor const& rows) const;
    /// The ranks' summands -> this rank's tokens (along `dim`) of the outputs.
    [[nodiscard]] at::Tensor summed(SharedTokens const& over, at::Tensor const& partial,
                                    std::int64_t dim) const;
    /// x (..., in) -> (..., out).
    [[nodiscard]] at::Tensor over(at::Tensor const& x) const;

    /// Only the outputs [first, first + count), with `part` for their bias.
    [[nodiscard]] at::Tensor outputs(at::Tensor const& rows, std::int64_t first, std::int64_t count,
                                     at::Tensor const& part) const;

    at::Tensor weight;        // (out, in)
    at::Tensor bias;          // (out); undefined: none
    bool is_partial = false;  // its inputs are shared
    std::shared_ptr<Adapter const> adapter;
};

/// GELU in its tanh form, of which a store keeps only x.
[[nodiscard]] at::Tensor gelu_tanh(at::Tensor const& x);

/// fc1, GELU (tanh form), fc2.
struct Mlp {
    Mlp(Parameters& parameters, std::string const& name, std::int64_t in, std::int64_t hidden,
        std::int64_t out);
    /// Shared by hidden values: fc2 adds to the outputs (Linear::summed).
    [[nodiscard]] static Mlp shared(Parameters& parameters, std::string const& name,
                                    std::int64_t in, std::int64_t hidden, std::int64_t out);
    [[nodiscard]] at::Tensor operator()(at::Tensor const& rows) const;

    Linear fc1, fc2;

private:
    Mlp(Linear first, Linear second) : fc1(std::move(first)), fc2(std::move(second)) {}
};

}  // namespace osora::worker
