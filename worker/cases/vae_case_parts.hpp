// What the cases of the two VAEs share: variants, inputs by name, weights, gradients. Private to
// worker/cases.
//
// These cases are computed in fp64 and rounded to fp32 at the end. The many convolutions of a VAE
// move fp32 results by up to 2e-6, which is as much as a comparison may find; so nothing of what is
// found is rounding of ours.
#pragma once

#include "worker/cases/case_file.hpp"

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace osora::worker {

/// The inputs of one variant; "in/x" is variant "", "in/T5/x" is variant "T5/".
struct CaseVariant {
    std::string prefix;
    std::map<std::string, at::Tensor, std::less<>> inputs;  // fp64

    [[nodiscard]] bool has(std::string_view name) const { return inputs.contains(name); }
    /// Undefined when it is absent.
    [[nodiscard]] at::Tensor get(std::string_view name) const;
    /// An error that names `name` when it is absent or of another shape; -1 is any size.
    [[nodiscard]] Result<void> require(std::string_view name, at::IntArrayRef shape) const;
    /// The same for an input that may be absent.
    [[nodiscard]] Result<void> allow(std::string_view name, at::IntArrayRef shape) const;
    /// An error that names an input which is none of `names`.
    [[nodiscard]] Result<void> only(std::vector<std::string> const& names) const;
    /// An error when `factor` does not divide height and width of x, its last sizes.
    [[nodiscard]] Result<void> divides(std::int64_t factor) const;
};

/// Variants in the order of the file, each with the inputs that stand beside the variants;
/// not_found when there are no inputs.
[[nodiscard]] Result<std::vector<CaseVariant>> case_variants(CaseFile const& file);

/// Gradients of sum(out * in/loss_weight): out/loss, grad/KEY of all trainable tensors, grad_in/x.
/// The gradients of `parameters` are dropped first.
void add_gradients(std::vector<NamedTensor>& results, CaseVariant const& variant,
                   at::Tensor const& out, Parameters& parameters);

/// Results of a case: appends out/<variant>NAME.
struct CaseOutputs {
    std::vector<NamedTensor>& results;
    CaseVariant const& variant;
    void add(std::string_view name, at::Tensor const& tensor) const;
    /// Adds moments, mean, logvar, z and kl; z is drawn with in/eps, and returned.
    [[nodiscard]] at::Tensor add_posterior(at::Tensor const& moments) const;
};

}  // namespace osora::worker
