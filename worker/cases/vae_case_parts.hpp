// What the cases of the two VAEs share: inputs, weights, gradients. Private to worker/cases.
//
// These cases are computed in fp64 and rounded to fp32 at the end. The many convolutions of a VAE
// move fp32 results by up to 2e-6, which is as much as a comparison may find; so nothing of what is
// found is rounding of ours.
#pragma once

#include "worker/cases/case_inputs.hpp"
#include "worker/model/parameters.hpp"

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// One variant of a case, its inputs in fp64.
struct VaeRun {
    std::string variant;
    at::Tensor x;            // in a train step a leaf that takes a gradient
    at::Tensor eps;          // undefined: z is the mean
    at::Tensor loss_weight;  // of the shape of decoded; undefined: no gradients
};

/// As CaseInputs::need and maybe, a real tensor in fp64.
[[nodiscard]] Result<at::Tensor> need_fp64(CaseInputs& inputs, std::string_view variant,
                                           std::string_view name, std::vector<std::int64_t> shape);
[[nodiscard]] Result<at::Tensor> maybe_fp64(CaseInputs& inputs, std::string_view variant,
                                            std::string_view name, std::vector<std::int64_t> shape);

/// in/x of this shape (-1: any size), whose height and width, its last sizes, `factor` divides.
[[nodiscard]] Result<at::Tensor> need_frames(CaseInputs& inputs, std::string_view variant,
                                             std::vector<std::int64_t> shape, std::int64_t factor);

/// Compares the weights of the file with the names and shapes of Part(parameters, config), before
/// memory is taken.
template <class Part, class Config>
[[nodiscard]] Result<void> check_part(Config const& config,
                                      std::vector<NamedTensor> const& weights) {
    Parameters shapes{at::TensorOptions(at::kMeta)};
    Part const unused(shapes, config);
    return shapes.check(weights);
}

/// Results of a variant of a case: appends out/<variant>NAME.
struct VaeOutputs {
    std::vector<NamedTensor>& results;
    VaeRun const& run;
    void add(std::string_view name, at::Tensor const& tensor) const;
    /// Adds moments, mean, logvar, z and kl; z is drawn with in/eps, and returned.
    [[nodiscard]] at::Tensor add_posterior(at::Tensor const& moments) const;
    /// Gradients of sum(out * in/loss_weight): out/loss, grad/KEY of all trainable tensors,
    /// grad_in/x. Clears the gradients of `parameters` first.
    void add_gradients(at::Tensor const& out, Parameters& parameters) const;
};

}  // namespace osora::worker
