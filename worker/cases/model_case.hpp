// What the cases of networks share: weights checked before anything is allocated, the forward pass,
// and the gradients of sum(out * in/loss_weight).
#pragma once

#include "worker/cases/case_inputs.hpp"
#include "worker/model/parameters.hpp"

#include <functional>
#include <string>
#include <vector>

namespace osora::worker {

/// The type a network computes in: metadata "dtype" ("torch.bfloat16"), else that of its weights,
/// which have one type.
[[nodiscard]] Result<at::ScalarType> case_type(CaseFile const& file);

/// weights/KEY as KEY.
[[nodiscard]] std::vector<NamedTensor> case_weights(CaseFile const& file);

/// Requires one real type for all weights, and no NaN or infinity: checked for every case before it
/// runs.
[[nodiscard]] Result<void> check_weight_values(CaseFile const& file);

/// Model(config) in that type with these weights, whose names and shapes are compared on the meta
/// device before memory is taken.
template <class Model, class Config>
[[nodiscard]] Result<Model> load_checked_model(Config const& config, at::ScalarType type,
                                               std::vector<NamedTensor> const& weights) {
    Model shapes(config, at::TensorOptions(at::kMeta));
    OSORA_TRY_VOID(shapes.parameters().check(weights));
    Model model(config, at::TensorOptions(type));
    OSORA_TRY_VOID(model.parameters().load(weights));
    return model;
}

/// The same with the type and the weights in the file.
template <class Model, class Config>
[[nodiscard]] Result<Model> load_case_model(CaseFile const& file, Config const& config) {
    OSORA_TRY(auto const type, case_type(file));
    return load_checked_model<Model>(config, type, case_weights(file));
}

/// One variant of a case, its inputs read.
struct CaseRun {
    std::string variant;
    at::Tensor loss_weight;           // of the shape of the output; undefined: no loss
    std::vector<NamedTensor> inputs;  // leaves that need gradients; undefined: absent
    std::function<at::Tensor()> forward;
};

/// in/loss_weight of a variant, which a training step needs.
[[nodiscard]] Result<at::Tensor> read_loss_weight(CaseFile const& file, CaseInputs& inputs,
                                                  std::string_view variant,
                                                  std::vector<std::int64_t> const& shape);
/// `input` as a separate leaf with a gradient; unchanged in a forward pass, or if undefined.
[[nodiscard]] at::Tensor as_leaf(CaseFile const& file, at::Tensor const& input);

/// Appends out/out, out/loss if there is a loss_weight, and in a training step the gradients.
void append_outputs(CaseFile const& file, Parameters& parameters, CaseRun const& run,
                    std::vector<NamedTensor>& outputs);

}  // namespace osora::worker
